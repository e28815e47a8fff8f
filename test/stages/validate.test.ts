import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Ajv2019 } from 'ajv/dist/2019.js'
import t from 'tap'
import { Type } from 'typebox'
import type { AuthedCall } from '../../lib/core/call.ts'
import { ValidationError, type ValidationDetail } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { validate } from '../../lib/stages/validate.ts'
import { explain } from '../../lib/validation/explain.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import { changed } from '../support/schema-values.ts'
import { receivedCall } from '../support/stages.ts'
import { rounds } from '../support/rounds.ts'

const validChat = validate(ChatRequest)

function callWith (body: unknown): AuthedCall {
  return receivedCall({ body: async () => body, key: { id: 'key-1', name: 'test' } })
}

async function requestOf (body: unknown): Promise<unknown> {
  for await (const call of validChat(once(callWith(body)))) return call.request
  throw new Error('no call came out')
}

async function detailOf (attempt: Promise<unknown>): Promise<ValidationDetail[]> {
  try {
    await attempt
  } catch (error) {
    if (error instanceof ValidationError) return error.detail
    throw error
  }
  return []
}

const hi = { role: 'user', content: 'hi' }
const chat = { model: 'openai/gpt-5', messages: [hi] }

t.test('other work runs after the check of a request with many values', async t => {
  for (const [bodyBytes, expected] of [[1000, 0], [1_000_000, 1]] as const) {
    let turns = 0
    const call = callWith(chat)
    call.record.request.bodyBytes = bodyBytes
    const next = setImmediate(() => turns++)
    for await (const _ of validChat(once(call))) t.equal(turns, expected)
    clearImmediate(next)
  }
})

const message = (message: unknown) => ({ messages: [message] })
const part = (part: unknown) => message({ role: 'user', content: [part] })
const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{}' } }
const server = 'https://tools.example.com/mcp'

/** Every field in every allowed form. Each is sent with a model and one message. */
const accepted: Record<string, unknown[]> = {
  model: [
    'openai/gpt-5',
    ['openai/gpt-5', 'anthropic/claude'],
    { model: 'openai/gpt-5' },
    { model: 'openai/gpt-5', settings: null },
    [{ model: 'openai/gpt-5', settings: { temperature: 0 } }, 'xai/grok']
  ],
  messages: [
    null,
    'hi',
    [],
    [hi],
    [{ role: 'developer', content: 'be brief', name: 'dev' }],
    [
      {
        role: 'system',
        content: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
        name: null
      }
    ],
    [
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: null } },
          { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } },
          { type: 'file', file: { file_id: 'file_1' } }
        ]
      }
    ],
    [{ role: 'assistant' }],
    [{ role: 'assistant', content: null, refusal: null, audio: { id: 'audio_1' }, name: null }],
    [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'refusal', refusal: 'no' }
        ]
      }
    ],
    [
      { role: 'assistant', tool_calls: [call, { ...call, type: undefined }] },
      { role: 'tool', tool_call_id: '', content: 'sunny' },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '3' }] }
    ],
    [
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sql', input: 'select 1' } }]
      }
    ],
    [
      { role: 'assistant', tool_calls: [{ ...call, extra_content: { google: { thought_signature: 'x' } } }] }
    ],
    [{ role: 'assistant', content: 'a', reasoning_content: 'b', thinking_blocks: [{ type: 'thinking' }] }],
    [{ role: 'assistant', function_call: { name: 'add', arguments: '{}' } }],
    [{ role: 'function', name: 'add', content: null }]
  ],
  input: [null, 'hi', [hi]],
  instructions: [null, 'be brief', [{ type: 'text', text: 'be brief' }], ['be brief'], [hi]],
  system: [null, 'be brief', [{ type: 'text', text: 'be brief' }]],
  system_instruction: [null, 'be brief', { parts: [{ text: 'be brief' }] }, { foo: 'bar' }],
  temperature: [null, 0, 0.7, 2],
  top_p: [null, 0, 1],
  top_k: [null, 0, 40],
  max_tokens: [null, 1],
  max_completion_tokens: [null, 1, 100_000],
  presence_penalty: [null, -2, 2],
  frequency_penalty: [null, -2, 2],
  logit_bias: [null, {}, { 50256: -100, 15: 100 }],
  stop: [null, 'END', [], ['a', 'b', 'c', 'd']],
  stop_sequences: [null, ['a', 'b', 'c', 'd']],
  seed: [null, 0, -7, 2 ** 40],
  n: [null, 1, 128],
  logprobs: [null, true, false],
  top_logprobs: [null, 0, 20],
  stream: [null, true, false],
  stream_options: [
    null,
    {},
    { include_usage: true, include_obfuscation: false },
    { include_usage: null, include_tool_events: true },
    { foo: 'bar' }
  ],
  response_format: [
    null,
    { type: 'text' },
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'answer_1-a' } },
    {
      type: 'json_schema',
      json_schema: { name: 'a', description: 'an answer', schema: { any_of: [] }, strict: null }
    }
  ],
  reasoning_effort: [null, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  thinking: [null, { type: 'enabled', budget_tokens: 1024 }, { type: 'disabled' }, { type: 'adaptive' }],
  verbosity: [null, 'low', 'medium', 'high'],
  modalities: [null, ['text'], ['text', 'audio', 'image'], ['string']],
  audio: [null, { format: 'pcm16', voice: 'alloy' }, { format: 'mp3', voice: { id: 'voice_1' } }],
  prediction: [
    null,
    { type: 'content', content: 'a' },
    { type: 'content', content: [{ type: 'text', text: 'a' }] }
  ],
  tools: [
    null,
    [],
    [{ type: 'function', function: { name: 'add' } }, { function: { name: 'sub' } }],
    [
      {
        type: 'function',
        function: { name: 'f', description: null, parameters: { any_of: [1] }, strict: true }
      }
    ],
    [{ type: 'function', function: { name: 'f', parameters: null, strict: null } }],
    [{ type: 'custom', custom: { name: 'sql' } }],
    [{ type: 'custom', custom: { name: 'sql', description: 'd', format: { type: 'text' } } }],
    [
      {
        type: 'custom',
        custom: { name: 'sql', format: { type: 'grammar', grammar: { definition: 'a', syntax: 'lark' } } }
      }
    ]
  ],
  tool_choice: [
    null,
    'none',
    'auto',
    'required',
    { type: 'function', function: { name: 'add' } },
    { type: 'custom', custom: { name: 'sql' } },
    { type: 'auto', disable_parallel_tool_use: true },
    { type: 'any' },
    { type: 'none' },
    { type: 'tool', name: 'add', disable_parallel_tool_use: null },
    { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function' }] } },
    { server_label: 'weather', name: 'today' },
    { type: 'mcp', server_label: 'weather', name: 'today' }
  ],
  parallel_tool_calls: [null, true, false],
  functions: [null, [], [{ name: 'add', description: 'adds', parameters: { foo: 'bar' } }]],
  function_call: [null, 'none', 'auto', 'add', { name: 'add' }],
  mcp_servers: [
    null,
    [],
    server,
    'org/tools@1.2',
    ['org/tools', server],
    { slug: 'org/tools' },
    [{ slug: 'org/tools', version: '1', url: null, name: null, credentials: { a: 'b' }, metadata: {} }],
    [{ url: server, headers: { 'x-a': 'b' }, authorization: 'Bearer x', allowed_tools: ['a'] }]
  ],
  credentials: [
    null,
    { connection_name: 'a', values: { token: 'x', port: 1, tls: true } },
    [{ connection_name: 'a', values: {} }]
  ],
  max_turns: [null, 1, 100],
  automatic_tool_execution: [null, true, false],
  auto_execute_tools: [null, true, false],
  generation_config: [null, { candidateCount: 1 }, { candidate_count: 1 }],
  safety_settings: [null, [], [{ category: 'HARM_CATEGORY_UNSPECIFIED', threshold: 'ANYTHING' }]],
  tool_config: [null, { function_calling_config: { mode: 'AUTO' } }, { functionCallingConfig: {} }],
  disable_automatic_function_calling: [null, true],
  cached_content: [null, 'cachedContents/1'],
  cachedContent: [null, 'cachedContents/1'],
  web_search_options: [null, {}, { search_context_size: 'low' }],
  search_parameters: [null, { mode: 'auto' }],
  deferred: [null, true, false],
  safe_prompt: [null, true],
  prompt_mode: [null, 'reasoning', { foo: 'bar' }],
  metadata: [
    null,
    {},
    { a: 'b' },
    { ['k'.repeat(64)]: 'v'.repeat(512) },
    Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${index}`, 'v']))
  ],
  store: [null, true, false],
  user: [null, 'ada'],
  safety_identifier: [null, 'hash'],
  prompt_cache_key: [null, 'key'],
  prompt_cache_retention: [null, '24h', 'in-memory'],
  service_tier: [null, 'auto', 'default', 'flex', 'priority', 'fast', 'scale', 'standard_only'],
  fallbacks: [null, ['gpt-5-mini', { model: 'gpt-5-nano' }, { 'gpt-5': ['gpt-5-mini'] }]],
  num_retries: [null, 0, 5],
  timeout: [null, 0.5, 600],
  tags: [null, 'batch, night', ['batch', 'night']],
  usage: [null, {}, { include: true }],
  drop_params: [null, true, false],
  cache: [null, { ttl: 60 }, { 'no-cache': true }],
  model_attributes: [null, { 'gpt-5': { accuracy: 0.95, speed: 0 } }],
  agent_attributes: [null, { complexity: 1 }],
  guardrails: [null, [], [{ foo: 'bar' }], ['pii']],
  handoff_config: [null, { foo: 'bar' }],
  cache_control: [null, { type: 'ephemeral' }],
  something_new: [null, 1, 'a', [{}]]
}

t.test('a field of a chat request may have any of its forms', async t => {
  for (const [field, forms] of Object.entries(accepted)) {
    for (const form of forms) {
      if (field === 'model' && form === null) continue
      const body = { ...chat, [field]: form }
      const without = Object.fromEntries(Object.entries(body).filter(([key]) => key !== field))
      t.strictSame(
        await requestOf(body),
        form === null ? without : body,
        `${field}: ${JSON.stringify(form).slice(0, 80)}`
      )
    }
  }
})

t.test('every field of the schema has its forms in the table', async t => {
  t.strictSame(Object.keys(ChatRequest.properties).filter(field => !Object.hasOwn(accepted, field)), [])
})

const missing = { msg: 'Field required', type: 'missing' }
const noString = { msg: 'Input should be a valid string', type: 'string_type' }
const noList = { msg: 'Input should be a valid list', type: 'list_type' }
const noObject = { msg: 'Input should be a valid dictionary', type: 'dict_type' }
const noBoolean = { msg: 'Input should be a valid boolean', type: 'bool_type' }
const noNumber = { msg: 'Input should be a valid number', type: 'float_type' }
const noInteger = { msg: 'Input should be a valid integer', type: 'int_type' }
const fraction = {
  msg: 'Input should be a valid integer, got a number with a fractional part', type: 'int_from_float'
}
const atLeast = (ge: number) => ({
  msg: `Input should be greater than or equal to ${ge}`, type: 'greater_than_equal', ctx: { ge }
})
const atMost = (le: number) => ({
  msg: `Input should be less than or equal to ${le}`, type: 'less_than_equal', ctx: { le }
})
const oneOf = (expected: string) => ({
  msg: `Input should be ${expected}`, type: 'literal_error', ctx: { expected }
})
const tag = (tag: string, name: string, expected: string) => ({
  msg: `Input tag '${tag}' found using '${name}' does not match any of the expected tags: ${expected}`,
  type: 'union_tag_invalid',
  ctx: { discriminator: `'${name}'`, tag, expected_tags: expected }
})
const tooShort = (min: number, actual: number, unit = 'item') => ({
  msg: `List should have at least ${min} ${unit} after validation, not ${actual}`,
  type: 'too_short',
  ctx: { field_type: 'List', actual_length: actual, min_length: min }
})
const tooLong = (max: number, actual: number, what = 'List') => ({
  msg: `${what} should have at most ${max} items after validation, not ${actual}`,
  type: 'too_long',
  ctx: { field_type: what, actual_length: actual, max_length: max }
})
const mismatch = (pattern: string) => ({
  msg: `String should match pattern '${pattern}'`, type: 'string_pattern_mismatch', ctx: { pattern }
})
const roles = "'system', 'developer', 'user', 'assistant', 'tool', 'function'"
const parts = "'text', 'image_url', 'input_audio', 'file'"

type Expected = Array<[loc: Array<string | number>, fault: object, input?: unknown]>

/** The fields sent with a model and one message, and every detail of the refusal. */
const rejected: Array<[sent: Record<string, unknown>, expected: Expected]> = [
  [{ model: undefined }, [[['model'], missing]]],
  [
    { model: null },
    [
      [['model'], noString, null],
      [['model'], noObject, null],
      [['model'], noList, null]
    ]
  ],
  [
    { model: '' },
    [
      [
        ['model'],
        {
          msg: 'String should have at least 1 character',
          type: 'string_too_short',
          ctx: { min_length: 1 }
        },
        ''
      ]
    ]
  ],
  [{ model: [] }, [[['model'], tooShort(1, 0)]]],
  [{ model: {} }, [[['model', 'model'], missing]]],
  [
    { model: ['a', 5] },
    [
      [['model', 1], noString, 5],
      [['model', 1], noObject, 5]
    ]
  ],
  [{ model: { model: 'a', settings: 1 } }, [[['model', 'settings'], noObject, 1]]],

  [
    { messages: 5 },
    [
      [['messages'], noString, 5],
      [['messages'], noList, 5]
    ]
  ],
  [
    { messages: { role: 'user' } },
    [
      [['messages'], noString],
      [['messages'], noList]
    ]
  ],
  [{ messages: ['hi'] }, [[['messages', 0], noObject, 'hi']]],
  [{ messages: [hi, { content: 'hi' }] }, [[['messages', 1, 'role'], missing]]],
  [message({ role: 'bot', content: 'hi' }), [[['messages', 0], tag('bot', 'role', roles)]]],
  [message({ role: 5 }), [[['messages', 0], tag('5', 'role', roles)]]],
  [message({ role: ['user'] }), [[['messages', 0], tag('array', 'role', roles)]]],
  [message({ role: 'user' }), [[['messages', 0, 'content'], missing]]],
  [
    message({ role: 'user', content: null }),
    [
      [['messages', 0, 'content'], noString, null],
      [['messages', 0, 'content'], noList, null]
    ]
  ],
  [
    message({ role: 'system', content: [{ type: 'image_url' }] }),
    [
      [['messages', 0, 'content', 0, 'type'], oneOf("'text'"), 'image_url'],
      [['messages', 0, 'content', 0, 'text'], missing]
    ]
  ],
  [message({ role: 'user', content: 'a', name: 1 }), [[['messages', 0, 'name'], noString, 1]]],
  [message({ role: 'tool', content: 'a' }), [[['messages', 0, 'tool_call_id'], missing]]],
  [message({ role: 'function', content: null }), [[['messages', 0, 'name'], missing]]],
  [message({ role: 'function', name: 'f' }), [[['messages', 0, 'content'], missing]]],
  [message({ role: 'assistant', audio: {} }), [[['messages', 0, 'audio', 'id'], missing]]],
  [message({ role: 'assistant', tool_calls: {} }), [[['messages', 0, 'tool_calls'], noList]]],
  [
    message({ role: 'assistant', tool_calls: [{ id: 'c', type: 'mcp' }] }),
    [[['messages', 0, 'tool_calls', 0], tag('mcp', 'type', "'function', 'custom'")]]
  ],
  [
    message({ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: {} } }] }),
    [[['messages', 0, 'tool_calls', 0, 'function', 'arguments'], noString]]
  ],
  [
    message({ role: 'assistant', content: [{ type: 'image_url' }] }),
    [[['messages', 0, 'content', 0], tag('image_url', 'type', "'text', 'refusal'")]]
  ],
  [part({ type: 'video' }), [[['messages', 0, 'content', 0], tag('video', 'type', parts)]]],
  [part({ text: 'a' }), [[['messages', 0, 'content', 0, 'type'], missing]]],
  [part({ type: 'text' }), [[['messages', 0, 'content', 0, 'text'], missing]]],
  [
    part({ type: 'image_url', image_url: 'https://a' }),
    [[['messages', 0, 'content', 0, 'image_url'], noObject, 'https://a']]
  ],
  [
    part({ type: 'image_url', image_url: { url: 'a', detail: 'max' } }),
    [[['messages', 0, 'content', 0, 'image_url', 'detail'], oneOf("'auto', 'low' or 'high'"), 'max']]
  ],
  [
    part({ type: 'input_audio', input_audio: { format: 'ogg' } }),
    [
      [['messages', 0, 'content', 0, 'input_audio', 'data'], missing],
      [['messages', 0, 'content', 0, 'input_audio', 'format'], oneOf("'wav' or 'mp3'"), 'ogg']
    ]
  ],
  [part({ type: 'file', file: 'a' }), [[['messages', 0, 'content', 0, 'file'], noObject, 'a']]],

  [
    { input: true },
    [
      [['input'], noString, true],
      [['input'], noList, true]
    ]
  ],
  [
    { instructions: 1 },
    [
      [['instructions'], noString, 1],
      [['instructions'], noList, 1]
    ]
  ],
  [
    { system: [1] },
    [
      [['system', 0], noString, 1],
      [['system', 0], noObject, 1]
    ]
  ],
  [
    { system_instruction: [] },
    [
      [['system_instruction'], noString],
      [['system_instruction'], noObject]
    ]
  ],

  [{ temperature: '1' }, [[['temperature'], noNumber, '1']]],
  [{ temperature: true }, [[['temperature'], noNumber, true]]],
  [{ temperature: 2.1 }, [[['temperature'], atMost(2), 2.1]]],
  [{ temperature: -0.1 }, [[['temperature'], atLeast(0), -0.1]]],
  [{ top_p: 1.1 }, [[['top_p'], atMost(1), 1.1]]],
  [{ top_k: -1 }, [[['top_k'], atLeast(0), -1]]],
  [{ top_k: 1.5 }, [[['top_k'], fraction, 1.5]]],
  [{ max_tokens: 0 }, [[['max_tokens'], atLeast(1), 0]]],
  [{ max_completion_tokens: 0 }, [[['max_completion_tokens'], atLeast(1), 0]]],
  [{ max_completion_tokens: '5' }, [[['max_completion_tokens'], noInteger, '5']]],
  [{ presence_penalty: -2.5 }, [[['presence_penalty'], atLeast(-2), -2.5]]],
  [{ frequency_penalty: 3 }, [[['frequency_penalty'], atMost(2), 3]]],
  [
    { logit_bias: { 5: 101, 'a\nb': -101 } },
    [
      [['logit_bias', '5'], atMost(100), 101],
      [['logit_bias', 'a\nb'], atLeast(-100), -101]
    ]
  ],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, [[['stop'], tooLong(4, 5)]]],
  [{ stop: [1] }, [[['stop', 0], noString, 1]]],
  [{ stop_sequences: 'a' }, [[['stop_sequences'], noList, 'a']]],
  [{ seed: 0.5 }, [[['seed'], fraction, 0.5]]],
  [{ n: 0 }, [[['n'], atLeast(1), 0]]],
  [{ n: 129 }, [[['n'], atMost(128), 129]]],
  [{ logprobs: 1 }, [[['logprobs'], noBoolean, 1]]],
  [{ top_logprobs: 21 }, [[['top_logprobs'], atMost(20), 21]]],
  [{ stream: 'true' }, [[['stream'], noBoolean, 'true']]],
  [{ stream_options: { include_usage: 1 } }, [[['stream_options', 'include_usage'], noBoolean, 1]]],
  [
    { response_format: { type: 'xml' } },
    [[['response_format'], tag('xml', 'type', "'text', 'json_object', 'json_schema'")]]
  ],
  [{ response_format: { type: 'json_schema' } }, [[['response_format', 'json_schema'], missing]]],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'a b' } } },
    [[['response_format', 'json_schema', 'name'], mismatch('^[A-Za-z0-9_-]+$'), 'a b']]
  ],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'a'.repeat(65) } } },
    [
      [
        ['response_format', 'json_schema', 'name'],
        {
          msg: 'String should have at most 64 characters',
          type: 'string_too_long',
          ctx: { max_length: 64 }
        },
        'a'.repeat(65)
      ]
    ]
  ],
  [
    { reasoning_effort: 'huge' },
    [[['reasoning_effort'], oneOf("'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'"), 'huge']]
  ],
  [{ thinking: { type: 'enabled' } }, [[['thinking', 'budget_tokens'], missing]]],
  [
    { thinking: { type: 'enabled', budget_tokens: 1023 } },
    [[['thinking', 'budget_tokens'], atLeast(1024), 1023]]
  ],
  [{ thinking: true }, [[['thinking'], noObject, true]]],
  [{ verbosity: 'loud' }, [[['verbosity'], oneOf("'low', 'medium' or 'high'"), 'loud']]],
  [{ modalities: 'text' }, [[['modalities'], noList, 'text']]],
  [
    { audio: { format: 'ogg' } },
    [
      [['audio', 'format'], oneOf("'wav', 'aac', 'mp3', 'flac', 'opus' or 'pcm16'"), 'ogg'],
      [['audio', 'voice'], missing]
    ]
  ],
  [{ prediction: { type: 'content', content: [] } }, [[['prediction', 'content'], tooShort(1, 0)]]],

  [{ tools: {} }, [[['tools'], noList]]],
  [{ tools: [{}] }, [[['tools', 0, 'function'], missing]]],
  [{ tools: [{ type: 'web_search' }] }, [[['tools', 0], tag('web_search', 'type', "'function', 'custom'")]]],
  [
    { tools: [{ type: 'function', function: { name: 5, strict: 'yes' } }] },
    [
      [['tools', 0, 'function', 'name'], noString, 5],
      [['tools', 0, 'function', 'strict'], noBoolean, 'yes']
    ]
  ],
  [
    {
      tools: [
        {
          type: 'custom',
          custom: { name: 'a', format: { type: 'grammar', grammar: { definition: 'a', syntax: 'bnf' } } }
        }
      ]
    },
    [[['tools', 0, 'custom', 'format', 'grammar', 'syntax'], oneOf("'lark' or 'regex'"), 'bnf']]
  ],
  [{ tool_choice: 'any' }, [[['tool_choice'], oneOf("'none', 'auto' or 'required'"), 'any']]],
  [
    { tool_choice: 5 },
    [
      [['tool_choice'], oneOf("'none', 'auto' or 'required'"), 5],
      [['tool_choice'], noObject, 5]
    ]
  ],
  [{ tool_choice: { function: { name: 'a' } } }, [[['tool_choice', 'type'], missing]]],
  [{ tool_choice: { type: 'tool' } }, [[['tool_choice', 'name'], missing]]],
  [{ parallel_tool_calls: 'no' }, [[['parallel_tool_calls'], noBoolean, 'no']]],
  [{ functions: [{}] }, [[['functions', 0, 'name'], missing]]],
  [{ function_call: {} }, [[['function_call', 'name'], missing]]],
  [
    { mcp_servers: 5 },
    [
      [['mcp_servers'], noString, 5],
      [['mcp_servers'], noObject, 5],
      [['mcp_servers'], noList, 5]
    ]
  ],
  [
    { mcp_servers: [{ slug: 'tools', url: 'ftp://a' }] },
    [
      [['mcp_servers', 0, 'slug'], mismatch('^[A-Za-z0-9_-]+/[A-Za-z0-9_-]+$'), 'tools'],
      [['mcp_servers', 0, 'url'], mismatch('^https?://'), 'ftp://a']
    ]
  ],
  [{ mcp_servers: Array.from({ length: 33 }, () => 'a/b') }, [[['mcp_servers'], tooLong(32, 33)]]],
  [
    { credentials: {} },
    [
      [['credentials', 'connection_name'], missing],
      [['credentials', 'values'], missing]
    ]
  ],
  [
    { credentials: [{ connection_name: 'a', values: { port: 1.5 } }] },
    [[['credentials', 0, 'values', 'port'], fraction, 1.5]]
  ],
  [{ max_turns: 0 }, [[['max_turns'], atLeast(1), 0]]],
  [{ max_turns: 101 }, [[['max_turns'], atMost(100), 101]]],
  [{ automatic_tool_execution: 0 }, [[['automatic_tool_execution'], noBoolean, 0]]],
  [{ auto_execute_tools: 0 }, [[['auto_execute_tools'], noBoolean, 0]]],

  [{ generation_config: 'a' }, [[['generation_config'], noObject, 'a']]],
  [{ safety_settings: [{ category: 'a' }] }, [[['safety_settings', 0, 'threshold'], missing]]],
  [{ tool_config: [] }, [[['tool_config'], noObject]]],
  [{ deferred: 'yes' }, [[['deferred'], noBoolean, 'yes']]],
  [{ cached_content: {} }, [[['cached_content'], noString]]],
  [
    { prompt_mode: 1 },
    [
      [['prompt_mode'], noString, 1],
      [['prompt_mode'], noObject, 1]
    ]
  ],
  [{ metadata: { a: 1 } }, [[['metadata', 'a'], noString, 1]]],
  [
    { metadata: { ['k'.repeat(65)]: 'v' } },
    [
      [
        ['metadata', 'k'.repeat(65), '[key]'],
        {
          msg: 'String should have at most 64 characters',
          type: 'string_too_long',
          ctx: { max_length: 64 }
        },
        'k'.repeat(65)
      ]
    ]
  ],
  [
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])) },
    [[['metadata'], tooLong(16, 17, 'Dictionary')]]
  ],
  [
    { metadata: { a: 'v'.repeat(513) } },
    [
      [
        ['metadata', 'a'],
        {
          msg: 'String should have at most 512 characters',
          type: 'string_too_long',
          ctx: { max_length: 512 }
        },
        `${'v'.repeat(200)}…`
      ]
    ]
  ],
  [{ store: 'yes' }, [[['store'], noBoolean, 'yes']]],
  [{ user: 5 }, [[['user'], noString, 5]]],
  [
    { service_tier: 'gold' },
    [[['service_tier'], oneOf("'auto', 'default', 'flex', 'priority', 'fast', 'scale' or 'standard_only'"), 'gold']]
  ],
  [{ model_attributes: { a: { speed: 2 } } }, [[['model_attributes', 'a', 'speed'], atMost(1), 2]]],
  [{ agent_attributes: { speed: -1 } }, [[['agent_attributes', 'speed'], atLeast(0), -1]]],
  [{ guardrails: 'a' }, [[['guardrails'], noList, 'a']]],
  [{ handoff_config: 'a' }, [[['handoff_config'], noObject, 'a']]],

  // Several faults of one body are reported together, in the order of the fields.
  [
    { model: 1, messages: [{}], temperature: 3, n: 0.5 },
    [
      [['model'], noString, 1],
      [['model'], noObject, 1],
      [['model'], noList, 1],
      [['messages', 0, 'role'], missing],
      [['temperature'], atMost(2), 3],
      [['n'], fraction, 0.5]
    ]
  ]
]

t.test('a chat request is refused with exactly what is wrong', async t => {
  for (const [sent, expected] of rejected) {
    const body = JSON.parse(JSON.stringify({ ...chat, ...sent })) as unknown // as parsed from a body
    const detail = expected.map(([loc, fault, input]) => ({
      loc: ['body', ...loc], ...fault, ...input !== undefined && { input }
    }))
    t.strictSame(await detailOf(requestOf(body)), detail, JSON.stringify(sent).slice(0, 80))
  }
})

t.test('a body that is not an object is invalid JSON', async t => {
  for (const body of [undefined, null, 'text', 5, true, [], [chat]]) {
    await t.rejects(requestOf(body), { code: 'invalid_json', status: 400 })
  }
})

t.test('a body without nulls is the same object, and one with nulls is copied', async t => {
  const plain = { ...chat, temperature: 1 }
  t.equal(await requestOf(plain), plain)
  const nulls = { ...chat, temperature: null, stream_options: { include_usage: null } }
  t.strictSame(await requestOf(nulls), { ...chat, stream_options: { include_usage: null } })
  t.equal(nulls.temperature, null)
})

function deep (open: string, close: string): unknown {
  return JSON.parse(open.repeat(10_000) + '1' + close.repeat(10_000))
}

t.test('hostile bodies cost little', async t => {
  t.test('a hundred thousand bad messages give twenty details', async t => {
    const seen: unknown[] = []
    const messages = new Proxy(Array.from({ length: 100_000 }, () => ({ role: 'bot' })), {
      get (list, key) {
        seen.push(key)
        return Reflect.get(list, key) as unknown // whatever the list has there
      }
    })
    const detail = await detailOf(requestOf({ ...chat, messages }))
    t.equal(detail.length, 20)
    t.strictSame(detail.at(-1)?.loc, ['body', 'messages', 19])
    t.ok(seen.length < 500, `the list was looked at ${seen.length} times`)
  })

  t.test('a field with two faults does not exceed twenty details', async t => {
    const messages = Array.from({ length: 19 }, () => ({ role: 'bot' }))
    const detail = await detailOf(requestOf({ ...chat, messages, tool_choice: 5 }))
    t.equal(detail.length, 20)
  })

  t.test('nesting of any depth is harmless', async t => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
      ['{"content":', '}'],
      ['{"model":', '}']
    ] as const) {
      for (const field of ['model', 'messages', 'metadata', 'tool_choice', 'thinking']) {
        const detail = await detailOf(requestOf({ ...chat, [field]: deep(open, close) }))
        t.ok(detail.length > 0 && JSON.stringify(detail).length < 2_000, `${field}: ${open}`)
      }
    }
    const free = { ...chat, generation_config: deep('{"a":', '}'), anything: deep('[', ']') }
    t.equal(await requestOf(free), free)
  })

  t.test('a key named __proto__ is an ordinary key', async t => {
    // as parsed from a body
    const body = JSON.parse('{"__proto__":{"model":"a","messages":"hi"},"temperature":null}') as unknown
    t.match(await detailOf(requestOf(body)), [{ loc: ['body', 'model'], type: 'missing' }])
    const complete = await requestOf(JSON.parse('{"model":"a","__proto__":{"stream":true},"n":null}'))
    t.equal(Object.getPrototypeOf(complete), Object.prototype)
    t.match(await detailOf(requestOf(JSON.parse('{"model":"a","metadata":{"__proto__":5}}'))), [
      { loc: ['body', 'metadata', '__proto__'], type: 'string_type', input: 5 }
    ])
    t.match(await detailOf(requestOf({ ...chat, messages: [JSON.parse('{"__proto__":{"role":"user"}}')] })), [
      { loc: ['body', 'messages', 0, 'role'], type: 'missing' }
    ])
  })

  t.test('long texts are not echoed', async t => {
    const long = 'x'.repeat(1_000_000)
    for (const sent of [
      { temperature: long }, { verbosity: long }, { metadata: { [long]: 1 } },
      message({ role: long }), { metadata: { a: long } }
    ]) {
      const detail = await detailOf(requestOf({ ...chat, ...sent }))
      t.ok(detail.length > 0 && JSON.stringify(detail).length < 3_000, Object.keys(sent).join())
    }
  })
})

t.test('the explanation finds a fault exactly when the check fails', async () => {
  const matches = new Ajv2019({ strict: true, strictTypes: false }).compile(ChatRequest)
  const fields = Object.entries(accepted).flatMap(([field, forms]) => forms.map(form => ({ [field]: form })))
  const anything = fc.oneof(
    fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e9, '', 'x', 'text', [], {}, [null], ['a'], [1], {
      type: 'text'
    }),
    fc.constantFrom(...fields).map(field => Object.values(field)[0]),
    fc.jsonValue({ maxDepth: 3 })
  )
  const places = fc.array(fc.nat(), { maxLength: 6 })
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...fields), { maxLength: 4 }),
      fc.array(fc.tuple(places, anything), { maxLength: 3 }),
      (chosen, changes) => {
        let body: unknown = Object.assign({ ...chat }, ...chosen)
        for (const [place, value] of changes) body = changed(body, place, value)
        if (typeof body !== 'object' || body === null || Array.isArray(body)) return
        // Only values that a body can contain: no undefined.
        body = JSON.parse(JSON.stringify(body))
        assert.equal(explain(ChatRequest, body).length === 0, matches(body))
      }
    ),
    { numRuns: rounds(2_000) }
  )
})

t.test('a fault found only by the check is reported for the complete body', async t => {
  const stage = validate(Type.Object({ even: Type.Integer({ multipleOf: 2 }) }))
  const detail = await detailOf((async () => {
    for await (const call of stage(once(callWith({ even: 3 })))) t.fail(call.id)
  })())
  t.match(detail, [{ loc: ['body'], type: 'value_error' }])
})
