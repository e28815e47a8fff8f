/**
 * Requests of the Responses and the Messages API with errors, to every kind of provider.
 */

import fc from 'fast-check'
import t from 'tap'
import { isContainer } from '../../lib/json/type-guards.ts'
import { upstreamAt, type TestGateway } from '../support/gateway.ts'
import { storingGateway } from '../support/storing-gateway.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { Test } from 'tap'
import { rounds } from '../support/rounds.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC'

const message = {
  max_tokens: 20,
  temperature: 0.5,
  top_p: 0.9,
  top_k: 5,
  stop_sequences: ['x'],
  thinking: { type: 'adaptive' },
  tool_choice: { type: 'auto' },
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  output_config: { effort: 'low', format: { type: 'json_schema', schema: parameters } },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: 1' },
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' }, title: 'T' },
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] }
      ]
    },
    { role: 'system', content: 'A reminder.' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'hg1.e30' },
        { type: 'redacted_thinking', data: 'AA' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } },
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
      ]
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          is_error: false,
          content: [
            { type: 'text', text: 'sun' },
            { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } },
            { type: 'tool_reference', tool_name: 'later' }
          ]
        }
      ]
    }
  ],
  tools: [
    { name: 'weather', description: 'W', input_schema: parameters, strict: true },
    { name: 'later', input_schema: { type: 'object' }, defer_loading: true },
    { type: 'bash_20250124', name: 'bash' }
  ]
}

const response = {
  instructions: 'Be brief.',
  store: true,
  temperature: 0.5,
  reasoning: { effort: 'low', summary: 'auto' },
  tool_choice: 'auto',
  include: ['reasoning.encrypted_content'],
  text: { format: { type: 'json_schema', name: 'x', schema: parameters }, verbosity: 'low' },
  metadata: { a: 'b' },
  max_output_tokens: 100,
  truncation: 'auto',
  client_metadata: { a: 'b' },
  parallel_tool_calls: true,
  stream_options: { include_obfuscation: false },
  input: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [
        { type: 'function', name: 'more', parameters },
        {
          type: 'mcp',
          server_label: 's',
          server_url: 'http://127.0.0.1:9',
          allowed_tools: ['a'],
          require_approval: { never: { tool_names: ['a'] } }
        }
      ]
    },
    { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
    {
      role: 'user',
      id: 'msg_mine',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'low' },
        { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,eA==' }
      ]
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'hg1.e30'
    },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      status: 'completed',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'I look.', annotations: [], logprobs: [] },
        { type: 'refusal', refusal: 'no' }
      ]
    },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'weather',
      namespace: 'places',
      arguments: '{"city":"Bern"}',
      status: 'completed'
    },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'run', input: 'ls' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_text', text: 'sun' },
        { type: 'input_image', image_url: `data:image/png;base64,${png}` }
      ]
    },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'a' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
    { type: 'mcp_list_tools', server_label: 'files', tools: [] },
    { type: 'mcp_call', id: 'mcp_1', server_label: 'files', name: 'read', arguments: '{}', output: 'x' }
  ],
  tools: [
    { type: 'function', name: 'weather', parameters, strict: false },
    { type: 'custom', name: 'run', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'places', tools: [{ type: 'function', name: 'weather', parameters }] },
    { type: 'web_search', external_web_access: true }
  ]
}

const paths = {
  '/v1/messages': message,
  '/v1/messages/count_tokens': message,
  '/v1/responses': response,
  '/v1/responses/input_tokens': response
} as const
/** Headers of a client that is newer than the gateway. */
const headers = {
  'anthropic-version': '2030-01-01',
  'anthropic-beta': 'of-the-future-2030-01-01',
  'openai-beta': 'responses=v9',
  'x-stainless-lang': 'js'
}
const models = [
  'sandbox/echo',
  'openai/gpt-5',
  'anthropic/claude-sonnet-4-5',
  'google/gemini-2.5-flash',
  'xai/grok-4',
  'mistral/mistral-large-latest'
]

const answers: ReadonlyArray<readonly [path: string, answer: string]> = [
  ['count_tokens', '{"input_tokens":3}'],
  [
    '/messages',
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'c',
      content: [{ type: 'text', text: 'ok' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 }
    })
  ],
  ['countTokens', '{"totalTokens":3}'],
  [
    'enerateContent',
    '{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}'
  ]
]

async function start (t: Test): Promise<TestGateway> {
  const upstream = await fakeUpstream(({ path }) => ({
    pieces: [answers.find(([part]) => path.includes(part))?.[1] ?? chatAnswer('ok')]
  }))
  t.teardown(upstream.close)
  return await storingGateway(t, {
    providers: [
      { ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } },
      upstreamAt(`${upstream.url}/v1`),
      upstreamAt(upstream.url, 'anthropic', 'anthropic'),
      upstreamAt(upstream.url, 'google', 'google'),
      upstreamAt(`${upstream.url}/v1`, 'xai', 'xai'),
      upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral')
    ]
  })
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    0.5,
    '',
    'x',
    'x'.repeat(300),
    '\ud800',
    '__proto__',
    [],
    {},
    [[]],
    [null],
    { type: null },
    { type: 'of_the_future' },
    [{ type: 'of_the_future' }],
    { a: { b: [] } }
  ),
  fc.anything({ maxDepth: 2 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  // Sealed by the gateway, like state that providers expect back.
  fc
    .jsonValue({ maxDepth: 2 })
    .map(value => `hg1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`),
  fc
    .dictionary(
      fc.constantFrom('function', 'id', 'type', 'callFields', 'blocks', 'model'),
      fc.jsonValue({ maxDepth: 1 })
    )
    .map(value => `hg1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`)
)

type Holder = Record<string, unknown>

/** Returns every object and list inside a value. */
function holders (value: unknown): Holder[] {
  // keys of lists are strings too
  return isContainer(value) ? [value as Holder, ...Object.values(value).flatMap(holders)] : []
}

/** A valid body with one to three values replaced, removed, duplicated or added somewhere. */
function broken (body: object): fc.Arbitrary<object> {
  const step = fc.record({
    place: fc.nat(),
    key: fc.nat(),
    kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'double', 'add'),
    value: odd
  })
  return fc.array(step, { minLength: 1, maxLength: 3 }).map(steps => {
    const copy = structuredClone(body)
    for (const { place, key, kind, value } of steps) {
      const all = holders(copy)
      const holder = all[place % all.length] ?? {}
      const names = Object.keys(holder)
      const name = kind === 'add' ? 'unknown' : names[key % names.length] ?? 'unknown'
      if (kind === 'remove') Reflect.deleteProperty(holder, name)
      else holder[name] = kind === 'double' ? [holder[name], holder[name]] : value
    }
    return copy
  })
}

const requests = fc
  .constantFrom(...(Object.keys(paths) as Array<keyof typeof paths>))
  .chain(path =>
    fc.record({ path: fc.constant(path), model: fc.constantFrom(...models), body: broken(paths[path]) })
  )

/** Returns the field that an error names, in the format of the dialect; undefined for any other body. */
function fieldOf (path: string, body: Holder): string | undefined {
  const { message, type, code, param } = Object(body['error']) as Holder
  // The other types are those of 403.
  if (
    typeof message !== 'string' ||
    !['invalid_request_error', 'authentication_error', 'permission_error'].includes(String(type))
  ) {
    return undefined
  }
  if (!path.startsWith('/v1/messages')) {
    return typeof code === 'string' && typeof param === 'string' ? /^[^.[]*/.exec(param)?.[0] : undefined
  }
  return body['type'] === 'error' && typeof body['request_id'] === 'string'
    ? /^([^.: ]+)(?:\.[^: ]+)*: /.exec(message)?.[1]
    : undefined
}

t.test(
  'an invalid request gets an answer, or an error that names the field in its dialect',
  async t => {
    const api = await start(t)
    const statuses = new Set<number>()
    for (const [path, body] of Object.entries(paths)) {
      t.equal(
        (await api.post(path, { model: 'sandbox/echo', ...body })).status,
        200,
        `${path}: nothing is wrong`
      )
    }
    await fc.assert(
      fc.asyncProperty(requests, async ({ path, model, body }) => {
        const answer = await api.post(`${path}?beta=true`, { model, ...body }, { headers })
        statuses.add(answer.status)
        const text = await answer.text()
        if (answer.status === 200) return
        const field = fieldOf(path, JSON.parse(text) as Holder)
        const isKnown = field !== undefined && (field === 'model' || field in body || field in paths[path])
        // 403: an item without its content is a reference to one in the provider's account.
        if (![400, 403].includes(answer.status) || !isKnown) throw new Error(`${answer.status}: ${text}`)
      }),
      { numRuns: rounds(300) }
    )
    statuses.delete(403)
    t.same(statuses, new Set([200, 400]))
  }
)

t.test('deep and wide requests are refused or served without blocking others', async t => {
  const api = await start(t)
  const wide = (item: string): string => `[${Array(200_000).fill(item).join(',')}]`
  const values = [
    ...[
      [60, '[', ']'],
      [100_000, '[', ']'],
      [60, '{"a":', '}'],
      [20_000, '{"content":[', ']}'],
      [50_000, '{"properties":', '}']
    ].map(
      ([depth, opening, closing]) =>
        String(opening).repeat(Number(depth)) + '1' + String(closing).repeat(Number(depth))
    ),
    wide('1'),
    wide('{"type":"of_the_future"}')
  ]
  const bodies = values.flatMap(
    value =>
      [
        [
          '/v1/messages',
          `"max_tokens":5,"messages":[{"role":"user","content":[{"type":"x","a":${value}}]}]`
        ],
        ['/v1/messages', `"max_tokens":5,"messages":[{"role":"user","content":${value}}]`],
        [
          '/v1/messages',
          `"max_tokens":5,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a","input_schema":{"type":"object","properties":${value}}}]`
        ],
        ['/v1/responses', `"input":[{"type":"message","role":"user","content":"x","a":${value}}]`],
        ['/v1/responses', `"input":${value}`],
        ['/v1/responses', `"input":[{"type":"additional_tools","tools":${value}}]`],
        [
          '/v1/responses',
          `"input":"x","tools":[{"type":"function","name":"a","parameters":{"properties":${value}}}]`
        ]
      ] as const
  )
  for (const [path, fields] of bodies) {
    const { status } = await api.post(path, `{"model":"sandbox/echo",${fields}}`, {
      signal: AbortSignal.timeout(10_000)
    })
    t.ok(
      status === 200 || (status >= 400 && status < 500 && status !== 422),
      `${status} for ${fields.slice(0, 150)}`
    )
  }
})

t.test('nested JSON in strings of a request is refused or served, at any depth', async t => {
  const api = await start(t)
  const nested = (open: string, close: string, depth = 20_000): string =>
    open.repeat(depth) + '1' + close.repeat(depth)
  const references = Object.fromEntries(
    Array.from({ length: 9_000 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }])
  )
  const deepArguments = [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'f', arguments: `{"a":${nested('[', ']')}}` } }
      ]
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'x' }
  ]
  const bodies = [
    { messages: deepArguments },
    {
      messages: 'x',
      tools: [
        {
          type: 'function',
          function: { name: 'f', parameters: { allOf: [{ $ref: '#/$defs/d0' }], $defs: references } }
        }
      ]
    },
    {
      messages: 'x',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { type: 'string', pattern: nested('(', ')', 5_000) } }
      }
    },
    {
      messages: 'x',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { allOf: [{ $ref: '#/$defs/d0' }], $defs: references } }
      }
    }
  ]
  for (const model of ['sandbox/echo', 'google/gemini-3-pro', 'anthropic/claude-opus-5', 'openai/gpt-4.1']) {
    for (const [index, body] of bodies.entries()) {
      const { status } = await api.post(
        '/v1/chat/completions',
        { model, ...body },
        { signal: AbortSignal.timeout(10_000) }
      )
      t.ok(status === 200 || status === 400, `${status} of ${model} for body ${index}`)
    }
  }
})
