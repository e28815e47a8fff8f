import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { ToolCalls } from '../../../lib/providers/chat-completions/tool-calls.ts'
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

t.test('arguments are parsed once, however many pieces follow them', async t => {
  const label = { index: 0, id: 'k', function: { name: 'f' } }
  for (const more of ['', ' ', 'x', '{}']) {
    for (const text of ['{"a":1}', '{"a":1}x', '{a:1}']) {
      const calls = new ToolCalls(0)
      const parsed = t.capture(JSON, 'parse', JSON.parse)
      calls.read({ ...label, function: { name: 'f', arguments: text } }, [])
      for (let count = 0; count < 10; count++) {
        calls.read(label, [])
        calls.read({ index: 0, id: 'k', function: { arguments: more } }, [])
      }
      parsed.restore()
      t.equal(parsed().length, 1, `${text} ${more}`)
    }
  }
})

t.test('arguments with blanks behind them are complete, those with anything else are not', async t => {
  const piece = (text: string, name?: string): object => ({ index: 0, id: 'k', function: { name, arguments: text } })
  for (const blank of [' ', '\n\r\t ']) {
    t.match(callsOf([piece('{"x":1}', 'f'), piece('', 'f'), piece(blank), piece('{"x":2}', 'f')]), [['k', 'f', `{"x":1}${blank}`], [/^call_/, 'f', '{"x":2}']])
  }
  for (const other of ['x', '\u00a0', '{}']) {
    t.same(callsOf([piece('{"x":1}', 'f'), piece('', 'f'), piece(other), piece('{"x":2}', 'f')]), [['k', 'f', `{"x":1}${other}{"x":2}`]])
  }
})
