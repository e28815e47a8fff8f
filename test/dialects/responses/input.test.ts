import fc from 'fast-check'
import t from 'tap'
import { responsesFieldName } from '../../../lib/dialects/responses/field-name.ts'
import { property } from '../../../lib/json/type-guards.ts'
import { toResponse } from '../../../lib/dialects/responses/complete.ts'
import { packReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'
import { byId, historyFacts, type HistoryFacts } from '../../support/history-facts.ts'
import { holds } from '../../support/property.ts'
import { batchesOf, responsesCall, responsesStart } from '../../support/responses.ts'
import { anyAnswer } from './any-answer.ts'
import type { ResponsesRequest, ResponsesTool } from '../../../schemas/responses.ts'
import type { InputItem } from '../../../schemas/response-items.ts'

function inputOf (request: Partial<ResponsesRequest>) {
  const { context: _, ...call } = responsesCall(request)
  const { asWritten: _written, ...input } = call.request
  return input
}

function messagesOf (input: readonly InputItem[]) {
  return inputOf({ input: [...input] }).messages
}

const call = { type: 'function_call', call_id: 'call_1', name: 'get', arguments: '{}' } as const
const output = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' } as const
const image = { type: 'input_image', image_url: 'data:image/png;base64,AA' } as const

t.test('every field that providers know is mapped to chat completions', async t => {
  t.strictSame(
    inputOf({
      model: 'openai/gpt-5',
      input: 'Hi',
      instructions: 'Be brief.',
      stream: true,
      max_output_tokens: 16,
      temperature: 0,
      top_p: 0.5,
      parallel_tool_calls: false,
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
      top_logprobs: 2,
      text: {
        format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
        verbosity: 'low'
      },
      reasoning: { effort: 'max', summary: 'auto' },
      service_tier: 'fast',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      user: 'u',
      max_tool_calls: 3,
      metadata: { a: 'b' },
      truncation: 'auto',
      store: false
    }),
    {
      model: 'openai/gpt-5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' }
      ],
      originalInput: {
        field: 'input',
        places: new Map<object, string>([
          [{ role: 'user', content: 'Hi' }, 'input'],
          [{ role: 'system', content: 'Be brief.' }, 'instructions']
        ]),
        fieldName: responsesFieldName
      },
      callerNames: {
        'tool_choice.allowed_tools.tools': 'tool_choice.tools',
        response_format: 'text.format',
        verbosity: 'text.verbosity',
        reasoning_effort: 'reasoning.effort',
        max_completion_tokens: 'max_output_tokens',
        max_tokens: 'max_output_tokens',
        logprobs: 'include'
      },
      stream: true,
      max_completion_tokens: 16,
      temperature: 0,
      top_p: 0.5,
      parallel_tool_calls: false,
      logprobs: true,
      top_logprobs: 2,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' }, strict: true }
      },
      verbosity: 'low',
      reasoning_effort: 'max',
      showsThinking: true,
      reasoningSummary: 'auto',
      service_tier: 'priority',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      user: 'u',
      max_tool_calls: 3,
      max_turns: 5
    }
  )
})

t.test('plain text is the default of every provider, so no field is sent for it', async t => {
  t.notOk('response_format' in inputOf({ input: 'Hi', text: { format: { type: 'text' } } }))
})

t.test('items of one model turn become one message, followed by their results', async t => {
  t.strictSame(
    messagesOf([
      { role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Weather?' },
          { type: 'input_image', image_url: 'https://a.example/a.png', detail: 'original' }
        ]
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      call,
      { ...call, call_id: 'call_2' },
      output,
      {
        type: 'function_call_output',
        call_id: 'call_2',
        output: [{ type: 'input_text', text: 'see' }, image]
      },
      { type: 'message', role: 'assistant', content: 'Sunny.' },
      { role: 'user', content: 'Thanks' }
    ]),
    [
      { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Weather?' },
          { type: 'image_url', image_url: { url: 'https://a.example/a.png', detail: 'high' } }
        ]
      },
      {
        role: 'assistant',
        reasoning_content: 'Hm.',
        content: [{ type: 'text', text: 'I look.' }],
        tool_calls: ['call_1', 'call_2'].map(id => ({
          id,
          type: 'function',
          function: { name: 'get', arguments: '{}' }
        }))
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: 'see\n[image 1 of tool call call_2: in the next message]'
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'The image 1 of tool call call_2:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }
        ]
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Sunny.' }] },
      { role: 'user', content: 'Thanks' }
    ]
  )
})

t.test('data that a provider needs back is restored at its place', async t => {
  const blocks = [
    { type: 'thinking', thinking: 'Hm.', signature: 's' },
    { type: 'redacted_thinking', data: 'd' }
  ] as const
  const [assistant] = messagesOf([
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: packReasoning({ model: 'anthropic/a', blocks })
    },
    {
      type: 'reasoning',
      id: 'rs_2',
      summary: [],
      encrypted_content: packReasoning({
        model: 'google/g',
        callFields: { extra_content: { google: { thought_signature: 't' } } }
      })
    },
    call,
    output
  ])
  t.strictSame(assistant, {
    role: 'assistant',
    thinking_blocks: blocks,
    tool_calls: [
      {
        extra_content: { google: { thought_signature: 't' } },
        id: 'call_1',
        type: 'function',
        function: { name: 'get', arguments: '{}' }
      }
    ]
  })
  for (const foreign of [
    'hg1.',
    'hg1.bm90IGpzb24',
    `hg1.${Buffer.from('{"model":"m","blocks":[{"type":"thinking"},3]}').toString('base64url')}`
  ]) {
    t.strictSame(
      messagesOf([{ type: 'reasoning', id: 'rs_1', encrypted_content: foreign }, call, output])[0],
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get', arguments: '{}' } }]
      },
      foreign
    )
  }
})

t.test('the number of MCP servers in a request is limited, wherever they are named', async t => {
  const servers = (count: number): ResponsesTool[] =>
    Array.from({ length: count }, (_, index) => ({
      type: 'mcp', server_label: `s${index}`, server_url: `https://s${index}.example/mcp`
    }))
  const request = { mcp_servers: ['https://a.example/mcp'], tools: servers(20) }
  t.equal([inputOf({ ...request, tools: servers(31) }).mcp_servers].flat().length, 32)
  for (const type of ['additional_tools', 'tool_search_output']) {
    const item = { type, tools: servers(32).slice(20) } as unknown as InputItem // an open item
    t.throws(() => inputOf({ ...request, input: [item] }), { code: 'invalid_value', param: 'tools' })
  }
})

t.test('tools found by a search are included once each', async t => {
  const get = { type: 'function', name: 'get', description: 'Gets.' } as const
  const found = (...tools: readonly unknown[]): InputItem =>
    ({ type: 'tool_search_output', id: 'ts_1', call_id: 'call_0', tools }) as InputItem // an open item
  const { tools } = inputOf({
    tools: [{ ...get, defer_loading: true } as typeof get, { type: 'tool_search' }],
    input: [
      found({ type: 'namespace', name: 'ns', tools: [get] }, get, 'none'),
      found({ ...get, name: 'put' }),
      found({ ...get, name: 'put' }),
      { role: 'user', content: 'x' }
    ]
  })
  t.strictSame(
    tools?.map(tool => tool.type === 'function' && tool.function.name),
    ['get', 'ns__get', 'put']
  )
  t.throws(
    () => inputOf({ input: [found({ type: 'function' })] }),
    { code: 'invalid_value', param: 'input[0].tools[0].name' }
  )
  t.strictSame(inputOf({ input: [found(), { role: 'user', content: 'x' }] }).tools, undefined)
})

t.test('namespaced and free-form tools become functions, in the history too', async t => {
  const custom = {
    type: 'custom',
    name: 'apply_patch',
    description: 'Patches.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
  } as const
  const request = inputOf({
    tools: [
      { type: 'function', name: 'get', parameters: { type: 'object' }, strict: null },
      { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'get' }, custom] },
      { type: 'web_search' }
    ],
    tool_choice: { type: 'function', name: 'get', namespace: 'ns' },
    input: [
      { type: 'additional_tools', tools: [custom] },
      { role: 'user', content: 'x' },
      { ...call, namespace: 'ns' },
      output,
      { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' }
    ]
  })
  t.match(request.tools, [
    { function: { name: 'get', parameters: { type: 'object' } } },
    { function: { name: 'ns__get' } },
    {
      function: {
        name: 'ns__apply_patch',
        description: /^Patches\.\n\nThe input must match this lark grammar:\nstart: "x"$/,
        parameters: { required: ['input'] }
      }
    },
    { function: { name: 'apply_patch' } }
  ])
  t.equal(request.tools?.length, 4, 'hosted tools are left out')
  t.strictSame(request.tool_choice, { type: 'function', function: { name: 'ns__get' } })
  t.match(request.messages, [
    {},
    { tool_calls: [{ function: { name: 'ns__get' } }] },
    {},
    { tool_calls: [{ function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' } }] },
    { role: 'tool', content: 'done' }
  ])
})

t.test('an MCP server of the caller is called by the gateway', async t => {
  const server = {
    type: 'mcp',
    server_label: 'docs',
    server_url: 'https://mcp.example',
    require_approval: 'never'
  } as const
  t.strictSame(
    inputOf({
      mcp_servers: 'org/other',
      tools: [{ ...server, authorization: 'token', allowed_tools: { tool_names: ['read'] } }]
    }).mcp_servers,
    [
      'org/other',
      { name: 'docs', url: 'https://mcp.example', authorization: 'Bearer token', allowed_tools: ['read'] }
    ]
  )
})

t.test('each error names its place', async t => {
  const mcp = { type: 'mcp', server_label: 'a', server_url: 'https://a.example' } as const
  const rows: Array<readonly [Partial<ResponsesRequest>, string]> = [
    [{ input: [] }, 'input'],
    [{ input: [call] }, 'input'],
    [{ input: [output] }, 'input'],
    [{ input: [call, output, output] }, 'input'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input'],
    [{ input: [{ id: 'msg_1' }] }, 'input'],
    [
      {
        input: [
          { role: 'user', content: 'a' },
          { role: 'system', content: [{ type: 'input_image', image_url: 'https://a.example' }] }
        ]
      },
      'input[1].content[0].type'
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].file_id'
    ],
    [
      { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: 'x' }] }] },
      'input[0].content[0].type'
    ],
    [{ tools: [{ type: 'mcp', server_label: 'a' }] }, 'tools[0].server_url'],
    [
      {
        tools: [
          {
            type: 'mcp',
            server_label: 'a',
            server_url: 'https://a.example',
            allowed_tools: { read_only: true }
          }
        ]
      },
      'tools[0].allowed_tools.read_only'
    ],
    [{ tools: [mcp, { ...mcp, require_approval: 'never' }] }, 'tools[1].server_label'],
    [{ tools: [mcp], mcp_servers: { name: 'a', url: 'https://b.example' } }, 'tools[0].server_label'],
    [{ tools: [{ ...mcp, server_label: 'org/b' }], mcp_servers: 'org/b@1' }, 'tools[0].server_label'],
    [{ input: [{ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }] }, 'input'],
    [{ tools: [{ type: 'function', name: 'a' }], tool_choice: { type: 'web_search' } }, 'tool_choice'],
    [{ tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, 'tool_choice'],
    [{ prompt: { id: 'p' } }, 'prompt'],
    [{ conversation: 'c' }, 'conversation'],
    [{ background: true }, 'background']
  ]
  for (const [request, param] of rows) {
    t.match(
      thrownBy(() => responsesCall(request).context.untranslatable),
      { param, status: 400 },
      JSON.stringify(request)
    )
  }
})

function thrownBy (run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

t.test(
  'an answer sent back keeps its text, calls, thinking and images in results',
  async t => {
    holds(
      t,
      fc.property(anyAnswer, events => {
        const start = responsesStart()
        const { output } = toResponse(start, batchesOf(start, events))
        // Calls executed by the gateway are replayed as separate calls.
        const items = output.filter(({ type }) => type !== 'mcp_call')
        const ids = items.flatMap(item => (item.type === 'function_call' ? [item.call_id] : []))
        const results = ids.map(id => ({
          type: 'function_call_output' as const,
          call_id: id,
          output: [image]
        }))
        // as clients send them back
        const found = historyFacts(
          messagesOf([{ role: 'user', content: 'Hi' }, ...(items as InputItem[]), ...results])
        )
        const joined = (types: readonly string[], callIndex?: number): string =>
          events
            .map(event =>
              'text' in event &&
              types.includes(event.type) &&
              (callIndex === undefined || property(event, 'callIndex') === callIndex)
                ? event.text
                : ''
            )
            .join('')
        const wanted: HistoryFacts = {
          characters: joined(['text-delta', 'refusal-delta']).length,
          calls: byId(
            events.flatMap(event =>
              event.type === 'tool-call-start'
                ? [[event.id, event.name, joined(['tool-call-delta'], event.callIndex) || '{}']]
                : []
            )
          ),
          thinking: events.flatMap(event => (event.type === 'thinking-block' ? [event.block] : [])),
          images: ids.length
        }
        if (JSON.stringify(found) !== JSON.stringify(wanted)) {
          throw new Error(`${JSON.stringify(found)} for ${JSON.stringify(wanted)}`)
        }
      }),
      { numRuns: 200 }
    )
  }
)
