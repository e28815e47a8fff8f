import t from 'tap'
import { asFunctionCall, functionsAsTools, offersFunctionsOnly } from '../../lib/chat/legacy-functions.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const messages: ChatInput['messages'] = [{ role: 'user', content: 'hi' }]
const add = { name: 'add', parameters: { type: 'object' } }
const tool = { type: 'function', function: { name: 'add', strict: true } } as const

t.test('a request without deprecated fields is returned unchanged', async t => {
  const request = { model: 'm', messages }
  t.equal(functionsAsTools(request), request)
  const empty = { model: 'm', messages, functions: [] }
  t.equal(functionsAsTools(empty), empty)
})

t.test('`functions` alone become tools, with parallel calls off', async t => {
  t.strictSame(functionsAsTools({ model: 'm', messages, functions: [add], function_call: { name: 'add' } }), {
    model: 'm',
    messages,
    tools: [{ type: 'function', function: add }],
    parallel_tool_calls: false,
    tool_choice: { type: 'function', function: { name: 'add' } }
  })
  for (const choice of ['none', 'auto'] as const) {
    t.equal(
      functionsAsTools({ model: 'm', messages, functions: [add], function_call: choice }).tool_choice,
      choice
    )
  }
})

t.test(
  '`functions` are added to `tools`; on a name clash the tool and its choice take precedence',
  async t => {
    const sub = { name: 'sub' }
    t.strictSame(
      functionsAsTools({
        model: 'm',
        messages,
        tools: [tool],
        functions: [add, sub],
        function_call: 'none',
        tool_choice: 'auto'
      }),
      {
        model: 'm',
        messages,
        tools: [tool, { type: 'function', function: sub }],
        tool_choice: 'auto'
      }
    )
  }
)

t.test('calls in the history get ids, and each result gets the id of the last call of its name', async t => {
  const call = (name: string) => ({
    role: 'assistant' as const,
    content: null,
    function_call: { name, arguments: '{}' }
  })
  const { messages } = functionsAsTools({
    model: 'm',
    messages: [
      call('a'),
      { role: 'function', name: 'a', content: '1' },
      call('a'),
      call('b'),
      { role: 'function', name: 'a', content: null },
      { role: 'function', name: 'c', content: 'x' }
    ]
  })
  const called = (id: string, name: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }]
  })
  t.strictSame(messages, [
    called('call00000', 'a'),
    { role: 'tool', tool_call_id: 'call00000', content: '1' },
    called('call00002', 'a'),
    called('call00003', 'b'),
    { role: 'tool', tool_call_id: 'call00002', content: '' },
    { role: 'tool', tool_call_id: 'call00005', content: 'x' }
  ])
})

t.test('an assistant message whose function_call is null has no call', async t => {
  const request: ChatInput = {
    model: 'm',
    messages: [{ role: 'assistant', content: 'x', function_call: null }]
  }
  t.equal(functionsAsTools(request), request)
})

t.test('the answer has a function_call when only `functions` were sent', async t => {
  t.same(
    [
      offersFunctionsOnly({ functions: [add] }),
      offersFunctionsOnly({ functions: [add], tools: [] }),
      offersFunctionsOnly({ functions: [add], tools: [tool] }),
      offersFunctionsOnly({})
    ],
    [true, true, false, false]
  )
})

t.test('of several calls, function_call has the first', async t => {
  const events = asFunctionCall([
    { type: 'text-delta', choice: 0, text: 'a' },
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'x', name: 'add', kind: 'function' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'function' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'tool-call-start', choice: 0, callIndex: 1, id: 'y', name: 'add', kind: 'function' },
    { type: 'tool-call-delta', choice: 0, callIndex: 1, text: '{}', kind: 'function' },
    { type: 'tool-call-end', choice: 0, callIndex: 1 },
    { type: 'choice-end', choice: 0, reason: 'tool_calls' },
    { type: 'choice-end', choice: 1, reason: 'stop' }
  ])
  t.strictSame(events, [
    { type: 'text-delta', choice: 0, text: 'a' },
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: '', name: 'add', kind: 'legacy' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'legacy' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason: 'function_call' },
    { type: 'choice-end', choice: 1, reason: 'stop' }
  ])
})
