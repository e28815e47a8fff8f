import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { ToolCalls } from '../../../lib/providers/chat-completions/tool-calls.ts'
import { readResponse } from '../../support/adapters.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { ask, streamed } from '../../support/chat-completions.ts'

/** Returns the calls of a stream with these pieces. */
function callsOf (pieces: readonly object[]): unknown {
  const frames = pieces.map(
    piece =>
      `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { tool_calls: [piece] } }] })}\n\n`
  )
  const events = streamed(
    `${frames.join('')}data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n`
  )
  return events
    .filter(event => event.type === 'tool-call-start')
    .map(({ callIndex: call, id, name }) => [
      id,
      name,
      events
        .map(event => (event.type === 'tool-call-delta' && event.callIndex === call ? event.text : ''))
        .join('')
    ])
}

t.test('a deprecated function call becomes a tool call for callers with tools', async t => {
  const answer = {
    choices: [
      {
        message: { content: null, function_call: { name: 'f', arguments: '{}' } },
        finish_reason: 'function_call'
      }
    ]
  }
  const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'f' } }]
  t.match(readResponse(chatCompletions, answer, ask({ tools })).slice(1), [
    { type: 'tool-call-start', id: /^call_/, name: 'f', kind: 'function' },
    { type: 'tool-call-delta', text: '{}' },
    { type: 'tool-call-end' },
    { type: 'choice-end', reason: 'tool_calls' }
  ])
  t.match(readResponse(chatCompletions, answer, ask({ functions: [{ name: 'f' }] })).at(-1), {
    reason: 'function_call'
  })
})

t.test('a call whose name is repeated after its arguments is one call', async t => {
  const piece = (text: unknown, name = 'f', id = 'k'): object => ({
    index: 0,
    id,
    function: { name, arguments: text }
  })
  const one = [['k', 'f', '{"x":1}']]
  t.same(callsOf([piece('{"x":1}'), piece('')]), one)
  t.same(callsOf([piece('{"x":1}'), piece(null), piece('')]), one)
  t.same(callsOf([piece('{"x":1}'), piece('{"x":1}')]), one)
  t.same(callsOf([piece('{"x"'), piece(':1}'), piece('{"x":1}'), piece('')]), one)
  t.same(
    callsOf([
      piece('{"x":1}'),
      { index: 0, id: 'l', function: { name: 'f', arguments: '{"x":1}' } },
      piece('')
    ]),
    [
      ['k', 'f', '{"x":1}'],
      ['l', 'f', '{"x":1}']
    ]
  )
  t.match(
    callsOf([piece('{"x":1}'), piece('{"x":2}')]),
    [
      ['k', 'f', '{"x":1}'],
      [/^call_/, 'f', '{"x":2}']
    ],
    'other arguments are another call'
  )
  t.match(
    callsOf([piece('{"x":1}'), piece('{"x":1}', 'g')]),
    [
      ['k', 'f', '{"x":1}'],
      [/^call_/, 'g', '{"x":1}']
    ],
    'and so is another name'
  )
})

t.test("input of a custom tool repeated with the call's name is appended", async t => {
  const piece = (input: string): object => ({
    index: 0,
    id: 'k',
    type: 'custom',
    custom: { name: 'f', input }
  })
  t.same(callsOf([piece('ha'), piece('ha')]), [['k', 'f', 'haha']])
  t.same(callsOf([piece('[1]'), piece('')]), [['k', 'f', '[1]']])
})

t.test('arguments are parsed once, however many pieces follow', async t => {
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

t.test('arguments followed by white space are complete, others are not', async t => {
  const piece = (text: string, name?: string): object => ({
    index: 0,
    id: 'k',
    function: { name, arguments: text }
  })
  for (const blank of [' ', '\n\r\t ']) {
    t.match(callsOf([piece('{"x":1}', 'f'), piece('', 'f'), piece(blank), piece('{"x":2}', 'f')]), [
      ['k', 'f', `{"x":1}${blank}`],
      [/^call_/, 'f', '{"x":2}']
    ])
  }
  for (const other of ['x', '\u00a0', '{}']) {
    t.same(callsOf([piece('{"x":1}', 'f'), piece('', 'f'), piece(other), piece('{"x":2}', 'f')]), [
      ['k', 'f', `{"x":1}${other}{"x":2}`]
    ])
  }
})

t.test('pieces under another index belong to the call without arguments', async t => {
  const named = (index: unknown, id: string, name: string, text = ''): object => ({
    index,
    id,
    function: { name, arguments: text }
  })
  const piece = (index: unknown, text: string, id: unknown = null): object => ({
    index,
    id,
    function: { name: null, arguments: text }
  })
  const b = [['b', 'beta', '{"p":"x"}']]
  t.same(callsOf([named(1, 'b', 'beta'), piece(0, '{"p":'), piece(0, '"x"}')]), b, 'the index of the tool')
  t.same(
    callsOf([named(undefined, 'b', 'beta'), piece(0, '{"p":'), piece(0, '"x"}')]),
    b,
    'the first without an index'
  )
  t.same(callsOf([named(0, 'b', 'beta'), piece(undefined, '{"p":'), piece(1, '"x"}')]), b)
  t.same(callsOf([named(0, 'b', 'beta'), piece(3, '{"p":', 'b'), piece(3, '"x"}')]), b, 'by its id')
  t.same(callsOf([named('0', 'b', 'beta'), piece('0', '{"p":'), piece(0, '"x"}')]), b, 'an index as text')
  const two = [
    ['a', 'alpha', '{"p":1}'],
    ['b', 'beta', '{"p":2}']
  ]
  t.same(
    callsOf([named(2, 'a', 'alpha'), piece(0, '{"p":1}'), named(1, 'b', 'beta'), piece(1, '{"p":2}')]),
    two
  )
  t.same(
    callsOf([named(2, 'a', 'alpha'), piece(0, '{"p":1}'), named(1, 'b', 'beta'), piece(0, '{"p":2}')]),
    two
  )
  t.same(
    callsOf([
      named('0', 'a', 'alpha', '{"p"'),
      named('1', 'b', 'beta', '{"p"'),
      piece('0', ':1}'),
      piece('1', ':2}')
    ]),
    two
  )
  t.same(
    callsOf([
      named(undefined, 'a', 'alpha'),
      named(undefined, 'b', 'beta'),
      piece(0, '{"p":1}'),
      piece(1, '{"p":2}')
    ]),
    two
  )
  t.match(
    callsOf([
      { index: 0, function: { name: 'alpha', arguments: '' } },
      { index: 0, function: { name: 'beta', arguments: '{}' } }
    ]),
    [
      [/^call_/, 'alpha', ''],
      [/^call_/, 'beta', '{}']
    ],
    'another name under the same index'
  )
})

t.test('an empty object before the arguments is ignored', async t => {
  const piece = (text: string, name?: string): object => ({
    index: 0,
    id: 'k',
    function: { name, arguments: text }
  })
  t.same(callsOf([piece('{}', 'f'), piece('{"p":'), piece('1}')]), [['k', 'f', '{"p":1}']])
  t.same(callsOf([piece('{}', 'f'), piece('{"p":1}', 'f')]), [['k', 'f', '{"p":1}']])
  t.same(callsOf([piece('{ }', 'f'), piece('', 'f')]), [['k', 'f', '{ }']])
  t.same(callsOf([piece('{}', 'f'), piece('{}', 'f')]), [['k', 'f', '{}']])
})

t.test('calls that are not in a list or lack the function object are read', async t => {
  const call = { id: 'k', type: 'function', function: { name: 'f', arguments: '{"p":1}' } }
  for (const calls of [
    call,
    { 0: call },
    [{ id: 'k', name: 'f', arguments: '{"p":1}' }],
    [{ id: 'k', type: 'function', name: 'f', arguments: { p: 1 } }]
  ]) {
    const events = readResponse(
      chatCompletions,
      { choices: [{ message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }] },
      ask()
    )
    t.match(events.slice(1, 3), [
      { type: 'tool-call-start', id: 'k', name: 'f' },
      { type: 'tool-call-delta', text: '{"p":1}' }
    ])
  }
})

t.test(
  'arguments without a call are an error, except at the end of a cut answer',
  async t => {
    const named = { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }
    const nameless = { index: 1, function: { arguments: '{"y":2}' } }
    const answer = (calls: unknown, reason = 'tool_calls'): object => ({
      choices: [{ message: { content: null, tool_calls: calls }, finish_reason: reason }]
    })
    for (const calls of [
      [nameless],
      [named, nameless],
      [{ index: 0, id: 'a', function: { arguments: '' } }]
    ]) {
      t.throws(() => readResponse(chatCompletions, answer(calls), ask()), {
        code: 'upstream_invalid_response'
      })
      t.match(readResponse(chatCompletions, answer(calls, 'length'), ask()).at(-1), { reason: 'length' })
    }
    t.match(
      readResponse(
        chatCompletions,
        answer([named, {}, { index: 1, id: '', function: { name: null, arguments: null } }]),
        ask()
      ).at(-1),
      { reason: 'tool_calls' }
    )
  }
)
