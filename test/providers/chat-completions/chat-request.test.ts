import fc from 'fast-check'
import t from 'tap'
import { ParsedText } from '../../../lib/json/parsed-text.ts'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { ask, body, refusal } from '../../support/chat-completions.ts'
import { holds } from '../../support/property.ts'

t.test('the upstream body is built from an allow-list', async t => {
  const messages = [{ role: 'user' as const, content: 'hi' }]
  t.same(body({}), { model: 'm', messages }, 'nothing is invented')
  const others = {
    mcp_servers: ['a/b'],
    thinking: { type: 'disabled' as const },
    top_k: 3,
    generation_config: {},
    safety_settings: [],
    tool_config: {},
    search_parameters: {},
    deferred: true,
    guardrails: [],
    max_turns: 3,
    agent_attributes: {},
    automatic_tool_execution: false,
    credentials: [],
    cached_content: 'x',
    safe_prompt: true
  }
  t.same(body(others), { model: 'm', messages }, 'fields of others stay here')
  t.same(
    body({ ...others, unheard: 1 } as Partial<ChatInput>),
    { model: 'm', messages },
    'and so do unknown ones'
  )
  t.match(body({ safe_prompt: true }, { extraFields: ['safe_prompt'] }), { safe_prompt: true })
  t.match(body({ max_tokens: 5 }), { max_tokens: 5 })
  t.match(body({ max_tokens: 5 }, { tokenLimitField: 'max_completion_tokens' }), {
    max_completion_tokens: 5,
    max_tokens: undefined
  })
  t.match(body({ max_tokens: 5, max_completion_tokens: 7 }, { tokenLimitField: 'max_tokens' }), {
    max_tokens: 7
  })
  t.match(
    body({
      stop: [],
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      functions: [],
      function_call: 'auto'
    }),
    {
      stop: undefined,
      tools: undefined,
      tool_choice: undefined,
      parallel_tool_calls: undefined,
      functions: undefined,
      function_call: undefined
    },
    'what means nothing is left out'
  )
  t.match(body({ tools: [{ function: { name: 'f' } }], tool_choice: 'required' }), {
    tools: [{ type: 'function', function: { name: 'f' } }],
    tool_choice: 'required'
  })
  t.match(
    refusal(() => body({ tools: [{ type: 'custom', custom: { name: 'x' } }] }, { customTools: false })),
    { status: 400, param: 'tools[0].type' }
  )
  t.match(body({ reasoning_effort: 'low' }, { reasoningEffort: 'object' }), { reasoning: { effort: 'low' } })
  t.match(
    body({ safety_identifier: 's' }, { omit: ['safety_identifier'] }),
    { user: 's', safety_identifier: undefined },
    'by the name that the server knows'
  )
  t.match(body({ safety_identifier: 's', user: 'u' }, { omit: ['safety_identifier'] }), {
    user: 'u',
    safety_identifier: undefined
  })
  t.match(body({ safety_identifier: 's' }), { user: undefined, safety_identifier: 's' })
  t.match(body({ safety_identifier: 's' }, { omit: ['safety_identifier', 'user'] }), {
    user: undefined,
    safety_identifier: undefined
  })
  t.match(body({ user: 'u', seed: 1 }, { omit: ['seed'] }), { user: 'u', seed: undefined })
  t.same(body({}, {}, true)['stream_options'], { include_usage: true }, 'usage is always requested')
  t.same(body({}, { obfuscation: true }, true)['stream_options'], {
    include_usage: true,
    include_obfuscation: false
  })
  t.equal(body({}, { streamUsage: false }, true)['stream_options'], undefined)
})

t.test("a request built from the caller's bytes equals a printed one", async t => {
  const text = fc.string({ unit: 'binary' })
  const message = fc.record(
    {
      role: fc.constantFrom('user', 'assistant', 'system'),
      content: text,
      name: fc.option(text),
      unheard: fc.jsonValue()
    },
    { requiredKeys: ['role', 'content'] }
  )
  const tool = fc.record(
    {
      type: fc.constant('function'),
      function: fc.record({
        name: text,
        parameters: fc.dictionary(fc.constantFrom('type', 'any_of'), fc.jsonValue())
      })
    },
    { requiredKeys: ['function'] }
  )
  const requests = fc.record(
    {
      messages: fc.array(message),
      tools: fc.array(tool),
      stop: fc.array(text),
      metadata: fc.dictionary(text, text),
      user: text,
      unheard: fc.jsonValue()
    },
    { requiredKeys: ['messages'] }
  )
  holds(
    t,
    fc.property(
      requests,
      fc.constantFrom({}, { toolCallIdLength: 9 }, { omit: ['metadata'], rename: { stop: 'ends' } }),
      (given, quirks) => {
        const bytes = Buffer.from(JSON.stringify(given, undefined, 1))
        const request = JSON.parse(bytes.toString()) as Partial<ChatInput>
        const printed = ask(request, quirks, true)
        const { body } = chatCompletions.request({ ...printed, callerBody: ParsedText.of(request, [bytes]) })
        return (
          JSON.stringify(JSON.parse(Buffer.from(body as Uint8Array).toString())) ===
          chatCompletions.request(printed).body
        )
      }
    ),
    { numRuns: 200 }
  )
})

t.test(
  'a model without stop sequences gets none, and a request that needs them is refused',
  async t => {
    const sent = (stop: ChatInput['stop']): unknown => {
      const { route, ...rest } = ask({ ...stop !== undefined && { stop } })
      return chatCompletions.request({ ...rest, route: { ...route, traits: { stop: false } } }).body
    }
    for (const stop of ['END', ['END']]) {
      t.throws(() => sent(stop), { code: 'unsupported_parameter', param: 'stop' })
    }
    for (const stop of [undefined, []]) t.doesNotThrow(() => sent(stop))
  }
)

t.test('servers that only know function tools get only the allowed ones', async t => {
  const tools = ['f', 'g'].map(name => ({ type: 'function' as const, function: { name } }))
  const choice = (name: string) => ({
    type: 'allowed_tools' as const,
    allowed_tools: { mode: 'required' as const, tools: [{ type: 'function', function: { name } }] }
  })
  t.match(body({ tools, tool_choice: choice('g') }), {
    tools: [{ function: { name: 'f' } }, { function: { name: 'g' } }],
    tool_choice: choice('g')
  })
  t.strictSame(body({ tools, tool_choice: choice('g') }, { customTools: false }), {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [tools[1]],
    tool_choice: 'required'
  })
  t.throws(() => body({ tools, tool_choice: choice('h') }, { customTools: false }), {
    code: 'invalid_value',
    param: 'tool_choice.allowed_tools.tools'
  })
})
