import t from 'tap'
import { messagesInput, countTokensInput } from '../../../lib/dialects/messages/input.ts'
import { replaceCountTexts, replaceMessageTexts } from '../../../lib/dialects/messages/replace-texts.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { RoutedCall } from '../../../lib/core/call.ts'
import type { MessagesContext } from '../../../lib/dialects/messages/input.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'

const given: MessagesRequest = {
  model: 'm',
  max_tokens: 5,
  system: 'x',
  messages: [{ role: 'user', content: 'hi x' }]
}
const shout = (text: string): string => text.replace('x', 'X')

t.test('both the request of the caller and its conversation get the replaced texts', t => {
  const call = messagesInput(routedCall(given)) as unknown as RoutedCall<ChatInput> // with its routes
  const replaced = replaceMessageTexts(call, shout)
  t.match(replaced.request, {
    max_completion_tokens: 5,
    messages: [
      { role: 'system', content: 'X' },
      { role: 'user', content: 'hi X' }
    ]
  })
  t.same((replaced.context as MessagesContext).request, {
    ...given,
    system: 'X',
    messages: [{ role: 'user', content: 'hi X' }]
  })
  t.equal(replaced.routes, call.routes)
  const { request } = replaced
  t.equal(
    replaceMessageTexts(replaced, text => text).request,
    request,
    'nothing is rebuilt if nothing is replaced'
  )
  t.end()
})

t.test('so does the request of a token count', t => {
  const { max_tokens: _, ...counted } = given
  // with its routes
  const replaced = replaceCountTexts(
    countTokensInput(routedCall(counted)) as unknown as RoutedCall<ChatInput>,
    shout
  )
  t.match(replaced.request, { messages: [{ content: 'X' }, { content: 'hi X' }] })
  t.notOk('max_completion_tokens' in replaced.request)
  t.end()
})
