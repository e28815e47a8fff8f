import t from 'tap'
import { chatCompletions } from '../../../lib/dialects/chat-completions/index.ts'
import { replaceChatTexts } from '../../../lib/dialects/chat-completions/replace-texts.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { RoutedCall } from '../../../lib/core/call.ts'

t.test('the conversation is rebuilt from the request with the replaced texts', async t => {
  const tools = [{ type: 'function' as const, function: { name: 'x' } }]
  // with its routes
  const call = (await chatCompletions.input(
    routedCall({ model: 'm', system: 'be x', input: 'hi x', tools })
  )) as unknown as RoutedCall<ChatInput>
  const replaced = replaceChatTexts(call, text => text.replace('x', 'X'))
  t.same(replaced.request.messages, [{ role: 'system', content: 'be X' }, { role: 'user', content: 'hi X' }])
  t.equal(replaced.request.tools, tools, 'unchanged parts are the same objects')
  const { request } = replaced
  t.equal(
    replaceChatTexts(replaced, text => text).request,
    request,
    'nothing is rebuilt if nothing is replaced'
  )
})
