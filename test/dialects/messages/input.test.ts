import fc from 'fast-check'
import t from 'tap'
import { property } from '../../../lib/json/type-guards.ts'
import {
  countTokensInput,
  messagesInput,
  type MessagesContext
} from '../../../lib/dialects/messages/input.ts'
import { callerToolId, providerToolId } from '../../../lib/dialects/messages/tool-call-id.ts'
import { isPacked, packFields } from '../../../lib/json/packed-fields.ts'
import { shortToolName } from '../../../lib/dialects/messages/tool-name.ts'
import { byId, historyFacts, type HistoryFacts } from '../../support/history-facts.ts'
import { routedCall } from '../../support/stages.ts'
import { anyAnswer } from './any-answer.ts'
import { complete } from './answer.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'
import { rounds } from '../../support/rounds.ts'

function read (request: Partial<MessagesRequest> & Record<string, unknown>): {
  input: ChatInput
  context: MessagesContext
} {
  const call = routedCall<MessagesRequest>({
    model: 'one/m',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
    ...request
  })
  const { request: input, context } = messagesInput(call)
  return { input, context }
}

// any value that a caller may send
const tool = (name: string, more: object = {}): never =>
  ({ name, input_schema: { type: 'object', $schema: 'x', properties: {} }, ...more }) as never
const other = (type: string, more: object = {}): never => ({ type, ...more }) as never

t.test('request fields are mapped to those of a chat request', async t => {
  const { input } = read({
    stream: true,
    stop_sequences: ['a'],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    metadata: { user_id: '{"device":"x"}' },
    service_tier: 'standard_only',
    output_config: {
      format: {
        type: 'json_schema',
        schema: { type: 'object', properties: {}, additionalProperties: false }
      }
    }
  })
  t.match(input, {
    model: 'one/m',
    max_completion_tokens: 100,
    stream: true,
    stop: ['a'],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    service_tier: 'standard_only',
    messages: [{ role: 'user', content: 'hi' }],
    response_format: { type: 'json_schema', json_schema: { name: 'output', strict: true } }
  })
  t.match(
    read({
      output_config: { format: { type: 'json_schema', schema: { type: 'object', properties: { a: {} } } } }
    }).input.response_format,
    { json_schema: { strict: false } }
  )
  const format = { type: 'json_schema', schema: { type: 'object', properties: { a: {} } } }
  t.match(
    read({ output_format: format }).input.response_format,
    { json_schema: { schema: format.schema } },
    'also under its older name'
  )
  t.match(
    read({ output_format: { ...format, schema: {} }, output_config: { format } }).input.response_format,
    { json_schema: { schema: format.schema } }
  )
})

t.test('system prompts keep their positions, without the billing line for Anthropic', async t => {
  const { input } = read({
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2' },
      { type: 'text', text: 'You help.', cache_control: { type: 'ephemeral' } }
    ],
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Now.' },
      { role: 'assistant', content: 'yes' }
    ]
  })
  t.same(input.messages, [
    { role: 'system', content: [{ type: 'text', text: 'You help.', cache_control: { type: 'ephemeral' } }] },
    { role: 'user', content: 'hi' },
    { role: 'system', content: 'Now.' },
    { role: 'assistant', content: 'yes' }
  ])
})

t.test('tool results follow their calls directly, and their images come after all of them', async t => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const
  const { input } = read({
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'list', input: {} }
        ]
      },
      { role: 'system', content: 'Take care.' },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'b',
            content: [{ type: 'text', text: 'one' }, image, { type: 'text', text: 'two' }]
          },
          { type: 'tool_result', tool_use_id: 'a', is_error: true, content: 'gone' },
          { type: 'text', text: 'And?' }
        ]
      }
    ]
  })
  t.same(input.messages, [
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'look', arguments: '{"x":1}' } },
        { id: 'b', type: 'function', function: { name: 'list', arguments: '{}' } }
      ]
    },
    { role: 'tool', tool_call_id: 'b', content: 'one\n[image 1 of tool call b: in the next message]\ntwo' },
    { role: 'tool', tool_call_id: 'a', content: 'Error: gone' },
    { role: 'system', content: 'Take care.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'The image 1 of tool call b:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'text', text: 'And?' }
      ]
    }
  ])
})

t.test('documents become files or texts, and blocks of other tools become text', async t => {
  const { input, context } = read({
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
            title: 'A'
          },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'words' },
            title: 'B',
            context: 'of me'
          },
          { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'inside' }] } },
          other('search_result', { title: 'T', content: [{ type: 'text', text: 'found' }] }),
          other('web_search_tool_result', { content: [{ type: 'web_search_result', url: 'x' }] }),
          { type: 'text', text: '' }
        ]
      }
    ]
  })
  t.same(input.messages, [
    {
      role: 'user',
      content: [
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'A' } },
        { type: 'text', text: 'B\nof me' },
        { type: 'text', text: 'words' },
        { type: 'text', text: 'inside' },
        { type: 'text', text: 'T\nfound' }
      ]
    }
  ])
  t.equal(context.untranslatable, undefined)
})

t.test('thinking is sent back in the form that its provider knows', async t => {
  const extra = { extra_content: { google: { thought_signature: 'AAAA' } } }
  const { input } = read({
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'signed', signature: 'EqQB' },
          { type: 'redacted_thinking', data: 'xyz' },
          { type: 'thinking', thinking: 'unsigned', signature: '' },
          { type: 'thinking', thinking: '', signature: packFields(extra) },
          { type: 'tool_use', id: 'a', name: 'look', input: {} },
          { type: 'thinking', thinking: '', signature: 'hg1.not JSON' },
          { type: 'tool_use', id: 'b', name: 'look', input: {} }
        ]
      }
    ]
  })
  t.same(input.messages, [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' }, ...extra },
        { id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } }
      ],
      thinking_blocks: [
        { type: 'thinking', thinking: 'signed', signature: 'EqQB' },
        { type: 'redacted_thinking', data: 'xyz' }
      ],
      reasoning_content: 'unsigned'
    }
  ])
})

t.test('tools become functions; deferred ones are included once the client has found them', async t => {
  const tools = [
    tool('read', { description: 'Reads.', strict: true, cache_control: { type: 'ephemeral' } }),
    tool('later', { defer_loading: true }),
    tool('found', { defer_loading: true }),
    other('bash_20250124', { name: 'bash' }),
    other('memory_20250818')
  ]
  const { input } = read({
    tools,
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [{ type: 'tool_reference', tool_name: 'found' }]
          }
        ]
      }
    ]
  })
  t.match(input.tools, [
    {
      type: 'function',
      function: {
        name: 'read',
        description: 'Reads.',
        parameters: { type: 'object', properties: {} },
        strict: true
      },
      cache_control: { type: 'ephemeral' }
    },
    { function: { name: 'found' } },
    { function: { name: 'bash', parameters: { properties: { command: {} } } } },
    { function: { name: 'memory' } }
  ])
  t.equal(input.tools?.length, 4)
  t.notMatch(JSON.stringify(input.tools), /\$schema/)
  t.match(input.messages, [{ role: 'tool', content: 'Tool found is now available.' }])
  t.equal(read({ tools: [tool('later', { defer_loading: true })] }).input.tools, undefined)
})

t.test('the choice of tools is translated', async t => {
  const tools = [tool('a'.repeat(100))]
  for (const [given, wanted] of [
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { tool_choice: 'required', parallel_tool_calls: false }
    ],
    [
      { type: 'tool', name: 'a'.repeat(100) },
      { tool_choice: { type: 'function', function: { name: shortToolName('a'.repeat(100)) } } }
    ],
    [{ type: 'none' }, { tool_choice: 'none' }]
  ] as const) {
    t.match(read({ tools, tool_choice: given }).input, wanted)
  }
  t.equal(read({ tool_choice: { type: 'any' } }).input.tool_choice, undefined, 'nothing to choose from')
  const { input, context } = read({ tools })
  const [short = ''] = context.toolNames.keys()
  t.match(input.tools, [{ function: { name: short } }])
  t.equal(short.length, 64)
  t.equal(context.toolNames.get(short), 'a'.repeat(100))
})

t.test('the settings of thinking are translated', async t => {
  const rows: ReadonlyArray<readonly [Partial<MessagesRequest>, object]> = [
    [
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { thinking: { type: 'enabled', budget_tokens: 2000 }, reasoning_effort: 'low' }
    ],
    [{ thinking: { type: 'enabled', budget_tokens: 31_999 } }, { reasoning_effort: 'high' }],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { thinking: { type: 'adaptive' }, reasoning_effort: 'max' }
    ],
    [{ thinking: { type: 'disabled' } }, { thinking: { type: 'disabled' }, reasoning_effort: 'none' }],
    [{ thinking: { type: 'between_tools' } }, { thinking: undefined }],
    [{ output_config: { effort: 'low' } }, { reasoning_effort: 'low', thinking: undefined }]
  ]
  for (const [given, wanted] of rows) t.match(read(given).input, wanted, JSON.stringify(given))
  t.equal(read({ thinking: { type: 'adaptive', display: 'omitted' } }).context.hidesThinking, true)
})

t.test('Anthropic-only features are recorded, for providers that lack them', async t => {
  const rows: ReadonlyArray<readonly [Partial<MessagesRequest> & Record<string, unknown>, RegExp]> = [
    [
      { tools: [tool('a'), other('web_search_20250305', { name: 'web_search' })] },
      /^tools\.1: Input tag 'web_search_20250305' found using 'type' is not supported by this model$/
    ],
    [{ mcp_servers: [{ type: 'url', url: 'https://a.example' }] }, /^mcp_servers/],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, /^context_management/],
    [{ compaction: { type: 'summarize' } }, /^compaction: not supported/],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      /stored at Anthropic/
    ]
  ]
  for (const [given, message] of rows) {
    t.match(read(given).context.untranslatable, { code: 'unsupported_parameter', message })
  }
  t.equal(
    read({ context_management: { edits: [{ type: 'clear_thinking_20251015' }] } }).context.untranslatable,
    undefined
  )
  const counted = { model: 'm', messages: [], compaction: { type: 'summarize' } }
  t.equal(countTokensInput(routedCall(counted)).context.untranslatable, undefined)
})

t.test('a thread is refused with the message that makes clients continue without one', async t => {
  t.throws(() => read({ thread: { type: 'create' } }), /conversations are not kept/)
  t.throws(
    () => countTokensInput(routedCall({ model: 'm', messages: [], thread: {} })),
    /conversations are not kept/
  )
})

t.test('ids are mapped back to those of the provider', async t => {
  for (const id of ['call_1', 'functions.Bash:0', 'toolu_hg_x', 'ü', 'a b']) {
    const shown = callerToolId(id)
    t.match(shown, /^[a-zA-Z0-9_-]+$/)
    t.equal(providerToolId(shown), id)
  }
  t.equal(callerToolId('call_1'), 'call_1')
  const long = 'x'.repeat(80)
  t.ok(providerToolId(long).length <= 64)
  t.equal(providerToolId(long), providerToolId(long))
  t.not(providerToolId(long), providerToolId(`${long}y`))
})

t.test(
  'an answer sent back keeps its text, calls, thinking and images in results',
  async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } } as const
    await fc.assert(
      fc.asyncProperty(anyAnswer, async ({ events, calls }) => {
        const { content } = await complete([events])
        const ids = content.flatMap(block => (block.type === 'tool_use' ? [block.id] : []))
        const results = ids.map(id => ({ type: 'tool_result' as const, tool_use_id: id, content: [image] }))
        const { messages } = read({
          messages: [
            { role: 'user', content: 'hi' },
            { role: 'assistant', content },
            { role: 'user', content: results }
          ]
        }).input
        const { thinking, ...found } = historyFacts(messages)
        const signatures = thinking.map(block => property(block, 'signature') ?? property(block, 'data'))
        const wanted: Omit<HistoryFacts, 'thinking'> = {
          characters: events
            .map(event =>
              (event.type === 'text-delta' || event.type === 'refusal-delta') && event.choice === 0
                ? event.text
                : ''
            )
            .join('').length,
          calls: byId(
            calls.map(({ input }, index) => [`call ${index}`, `tool_${index}`, JSON.stringify(input)])
          ),
          images: calls.length
        }
        // Thinking without an answer is not a message; state packed for a call is sent back with that call.
        const isMessage = content.some(({ type }) => type === 'text' || type === 'tool_use')
        const given = content.flatMap(block => {
          if (block.type === 'redacted_thinking') return [block.data]
          return block.type === 'thinking' && block.signature !== '' && !isPacked(block.signature)
            ? [block.signature]
            : []
        })
        if (JSON.stringify(signatures) !== JSON.stringify(isMessage ? given : [])) {
          throw new Error(`${JSON.stringify(signatures)} for ${JSON.stringify(given)}`)
        }
        if (JSON.stringify(found) !== JSON.stringify(wanted)) {
          throw new Error(`${JSON.stringify(found)} for ${JSON.stringify(wanted)}`)
        }
      }),
      { numRuns: rounds(200) }
    )
  }
)
