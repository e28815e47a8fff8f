import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { streamOf } from '../../support/adapters.ts'
import { googleAsk, googleBody } from '../../support/google.ts'
import { readEvents } from '../../support/read-events.ts'
import { bytesOf } from '../../support/google-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

t.test('the deprecated functions become tools and return as function_call', async t => {
  const request: Partial<ChatInput> = {
    functions: [{ name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } }],
    function_call: { name: 'f' },
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":"b"}' } },
      { role: 'function', name: 'f', content: null }
    ]
  }
  t.match(googleBody(request), {
    contents: [
      {},
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: 'b' } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: '' } } }] }
    ],
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } }
  })
  t.match(googleBody({ ...request, function_call: 'none' }).toolConfig, {
    functionCallingConfig: { mode: 'NONE' }
  })
  t.same(readEvents([bytesOf('calls-late-stop')], streamOf(googleChat, googleAsk(request))).slice(2, -1), [
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: '', name: 'ferry_times', kind: 'legacy' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{"pier":"Largs"}', kind: 'legacy' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason: 'function_call' }
  ])
})

t.test('a tool choice names functions only if a call is forced', async t => {
  const tools: NonNullable<ChatInput['tools']> = [
    { function: { name: 'a' } },
    { type: 'function', function: { name: 'b', description: 'B' } }
  ]
  const chosen = (choice: NonNullable<ChatInput['tool_choice']>): unknown =>
    googleBody({ tools, tool_choice: choice }).toolConfig?.functionCallingConfig
  t.same(googleBody({ tools }).toolConfig, undefined)
  t.same(chosen('auto'), undefined)
  t.same(chosen('none'), { mode: 'NONE' })
  t.same(chosen('required'), { mode: 'ANY' })
  t.same(chosen({ type: 'any' }), { mode: 'ANY' })
  t.same(chosen({ type: 'tool', name: 'a' }), { mode: 'ANY', allowedFunctionNames: ['a'] })
  t.same(chosen({ type: 'function', function: { name: 'b' } }), { mode: 'ANY', allowedFunctionNames: ['b'] })
  const allowed = [{ type: 'function', function: { name: 'b' } }]
  t.same(chosen({ type: 'allowed_tools', allowed_tools: { mode: 'required', tools: allowed } }), {
    mode: 'ANY',
    allowedFunctionNames: ['b']
  })
  t.same(
    googleBody({
      tools,
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: allowed } }
    }),
    {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'b', description: 'B' }] }]
    },
    'the others are simply not offered'
  )
  t.same(
    googleBody({
      tools,
      tool_choice: 'required',
      tool_config: { function_calling_config: { mode: 'AUTO' } }
    }).toolConfig,
    { functionCallingConfig: { mode: 'AUTO' } },
    "the caller's own config replaces the derived one"
  )
})
