import t from 'tap'
import { read, body } from '../../support/anthropic-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { MessagesRequest } from '../../../lib/providers/anthropic/wire.ts'

t.test('a tool call without a result is named in the refusal', async t => {
  const call = (id: string): object => ({ id, type: 'function', function: { name: 'now', arguments: '{}' } })
  const messages = [
    { role: 'user', content: 'hi' }, { role: 'assistant', tool_calls: [call('a'), call('b')] }, { role: 'tool', tool_call_id: 'a', content: '' }
  ] as ChatInput['messages'] // the calls are plain objects, as they come from callers
  t.throws(() => body({ messages }), { code: 'invalid_value', message: /; `b` has none\./ })
})

t.test('no system message is lost', async t => {
  const { system } = body({ messages: [{ role: 'system', content: 'a' }, { role: 'user', content: 'b' }, { role: 'system', content: 'c' }] })
  t.strictSame(system, [{ type: 'text', text: 'a' }, { type: 'text', text: 'c' }])
})

t.test('results of parallel calls are one message, in front, in the order of the calls', async t => {
  const { messages } = JSON.parse(read('tool-round.request.json').toString()).body as MessagesRequest // our fixture
  t.match(messages[2]?.content, [{ type: 'tool_result', tool_use_id: 'toolu_1' }, { type: 'tool_result' }, { type: 'text' }])
  t.equal(messages.length, 5)
})

t.test('no empty text stands beside a tool call', async t => {
  const { messages } = body({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'a', function: { name: 'now', arguments: '' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'x' }
    ]
  })
  t.strictSame(messages[1]?.content, [{ type: 'tool_use', id: 'a', name: 'now', input: {} }])
})

t.test('thinking without its signature is not sent back', async t => {
  t.notMatch(JSON.stringify(JSON.parse(read('unsigned-thinking.request.json').toString()).body), /think|because/)
})
