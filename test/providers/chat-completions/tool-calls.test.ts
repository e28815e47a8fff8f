import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../support/adapters.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { ask, streamed } from '../../support/chat-completions.ts'

/** Returns the calls of a stream that has these pieces. */
function callsOf (pieces: readonly object[]): unknown {
  const frames = pieces.map(piece => `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { tool_calls: [piece] } }] })}\n\n`)
  const events = streamed(`${frames.join('')}data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n`)
  return events.filter(event => event.type === 'tool-call-start').map(({ call, id, name }) =>
    [id, name, events.map(event => event.type === 'tool-call-delta' && event.call === call ? event.text : '').join('')])
}

t.test('a deprecated call goes to callers with tools as a tool call', async t => {
  const answer = { choices: [{ message: { content: null, function_call: { name: 'f', arguments: '{}' } }, finish_reason: 'function_call' }] }
  const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'f' } }]
  t.match(readResponse(chatCompletions, answer, ask({ tools })).slice(1), [
    { type: 'tool-call-start', id: /^call_/, name: 'f', kind: 'function' }, { type: 'tool-call-delta', text: '{}' },
    { type: 'tool-call-end' }, { type: 'choice-end', reason: 'tool_calls' }
  ])
  t.match(readResponse(chatCompletions, answer, ask({ functions: [{ name: 'f' }] })).at(-1), { reason: 'function_call' })
})

t.test('a call that is named again after its arguments is one call', async t => {
  const piece = (text: unknown, name = 'f', id = 'k'): object => ({ index: 0, id, function: { name, arguments: text } })
  const one = [['k', 'f', '{"x":1}']]
  t.same(callsOf([piece('{"x":1}'), piece('')]), one)
  t.same(callsOf([piece('{"x":1}'), piece(null), piece('')]), one)
  t.same(callsOf([piece('{"x":1}'), piece('{"x":1}')]), one)
  t.same(callsOf([piece('{"x"'), piece(':1}'), piece('{"x":1}'), piece('')]), one)
  t.same(callsOf([piece('{"x":1}'), { index: 0, id: 'l', function: { name: 'f', arguments: '{"x":1}' } }, piece('')]), [['k', 'f', '{"x":1}'], ['l', 'f', '{"x":1}']])
  t.match(callsOf([piece('{"x":1}'), piece('{"x":2}')]), [['k', 'f', '{"x":1}'], [/^call_/, 'f', '{"x":2}']], 'other arguments are another call')
  t.match(callsOf([piece('{"x":1}'), piece('{"x":1}', 'g')]), [['k', 'f', '{"x":1}'], [/^call_/, 'g', '{"x":1}']], 'and so is another name')
})

t.test('free text that is sent again under the name of its call is more of it', async t => {
  const piece = (input: string): object => ({ index: 0, id: 'k', type: 'custom', custom: { name: 'f', input } })
  t.same(callsOf([piece('ha'), piece('ha')]), [['k', 'f', 'haha']])
  t.same(callsOf([piece('[1]'), piece('')]), [['k', 'f', '[1]']])
})
