import t from 'tap'
import { responsesInput, type ResponsesContext } from '../../../lib/dialects/responses/input.ts'
import { replaceResponseTexts, withoutTokens } from '../../../lib/dialects/responses/replace-texts.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { RoutedCall } from '../../../lib/core/call.ts'
import type { StoredItem } from '../../../lib/dialects/responses/archive.ts'
import type { StoredInput } from '../../../lib/dialects/responses/stored-input.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'

const shout = (text: string): string => text.replace('x', 'X')

function call (request: ResponsesRequest, stored?: StoredInput): RoutedCall<ChatInput> {
  // with its routes
  return responsesInput(routedCall(request), { stored }) as unknown as RoutedCall<ChatInput>
}

t.test('both the request of the caller and its conversation get the replaced texts', t => {
  const given = call({ model: 'm', instructions: 'x', input: 'hi x', store: false })
  const replaced = replaceResponseTexts(given, shout, {})
  t.match(replaced.request.messages, [{ role: 'system', content: 'X' }, { role: 'user', content: 'hi X' }])
  t.match((replaced.context as ResponsesContext).request, { instructions: 'X', input: 'hi X' })
  const { request } = replaced
  t.equal(
    replaceResponseTexts(replaced, text => text, {}).request,
    request,
    'nothing is rebuilt if nothing is replaced'
  )
  t.end()
})

t.test('stored items that the request includes are inspected too', t => {
  const item: StoredItem = { id: 'msg_1', type: 'message', role: 'user', content: 'stored x' }
  const other: StoredItem = { id: 'msg_2', type: 'message', role: 'user', content: 'found x' }
  const stored: StoredInput = {
    continuation: { id: 'resp_1', rootId: 'resp_1', items: [item] },
    items: new Map([['msg_2', { item: other }]])
  }
  const replaced = replaceResponseTexts(
    call(
      { model: 'm', input: [{ type: 'item_reference', id: 'msg_2' }], previous_response_id: 'resp_1' },
      stored
    ),
    shout,
    {}
  )
  t.match(replaced.request.messages, [{ content: 'stored X' }, { content: 'found X' }])
  t.end()
})

t.test('a response that may be rewritten has no log probabilities', t => {
  const given = call({
    model: 'm',
    input: 'hi',
    store: false,
    include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
    top_logprobs: 2
  })
  const replaced = withoutTokens(given, {})
  t.match((replaced.context as ResponsesContext).request, {
    include: ['reasoning.encrypted_content'],
    top_logprobs: 0
  })
  t.notOk(replaced.request.logprobs)
  t.same(replaced.record.request.ignoredFields, ['message.output_text.logprobs', 'top_logprobs'])
  const plain = call({ model: 'm', input: 'hi', store: false })
  t.equal(withoutTokens(plain, {}), plain)
  t.end()
})
