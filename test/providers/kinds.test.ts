import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { full } from 'acorn-walk'
import t from 'tap'
import { providerKinds, type ProviderKind } from '../../schemas/providers.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { catalogue } from '../../lib/models/catalogue.ts'
import { Secret } from '../../lib/core/secret.ts'
import { readResponse, readerOf, streamOf } from '../support/adapters.ts'
import { provider, providerSettings } from '../support/settings.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { AdapterInput, Provider, UpstreamRequest } from '../../lib/providers/provider.ts'

function made (kind: ProviderKind, options: Record<string, unknown> = {}): Provider {
  return createProvider(
    { ...providerSettings('x', kind), apiKey: new Secret('k-1'), options },
    provider('x').transport
  )
}

function ask (quirks: Provider['quirks'], request: Partial<ChatInput> = {}): AdapterInput<ChatInput> {
  return {
    request: { model: 'x/m 1', messages: [{ role: 'user', content: 'hi' }], ...request },
    route: { providerId: 'x', model: 'm 1', modelId: 'x/m 1' },
    quirks,
    streamed: true
  }
}

function sent (
  kind: ProviderKind,
  request: Partial<ChatInput> = {},
  options?: Record<string, unknown>
): UpstreamRequest {
  const {
    adapters: { chat },
    quirks
  } = made(kind, options)
  if (chat === undefined) throw new Error(`no chat for ${kind}`)
  return chat.request(ask(quirks, request))
}

function body (kind: ProviderKind, request: Partial<ChatInput>): Record<string, unknown> {
  return JSON.parse(String(sent(kind, request).body)) as Record<string, unknown> // as printed
}

t.test('every kind gets its credential in its own header, at its own address', async t => {
  const header: Partial<Record<ProviderKind, Record<string, string>>> = {
    anthropic: { 'x-api-key': 'k-1' },
    google: { 'x-goog-api-key': 'k-1' },
    'azure-openai': { 'api-key': 'k-1' }
  }
  const path: Partial<Record<ProviderKind, string>> = {
    anthropic: '/v1/messages',
    google: '/v1beta/models/m%201:streamGenerateContent?alt=sse',
    'azure-openai': '/openai/v1/chat/completions'
  }
  // local programs: no key, no chat
  for (const kind of providerKinds.filter(kind => kind !== 'local')) {
    t.same(made(kind).authorize(), header[kind] ?? { authorization: 'Bearer k-1' }, kind)
    t.notMatch(JSON.stringify(made(kind).authorize('k-2')), 'k-1', "a caller's own key replaces it")
    t.equal(sent(kind).path, path[kind] ?? '/chat/completions', kind)
  }
  t.equal(
    sent('azure-openai', {}, { api_version: '2024-10-21' }).path,
    '/openai/deployments/m%201/chat/completions?api-version=2024-10-21'
  )
})

/** Shows one request at every kind that speaks the dialect: only the differences. */
t.test('each kind gets the request without fields that it refuses', async t => {
  const everything: Partial<ChatInput> = {
    max_completion_tokens: 9,
    metadata: { a: 'b' },
    store: true,
    service_tier: 'flex',
    safety_identifier: 's',
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
    web_search_options: {},
    prediction: { type: 'content', content: 'x' },
    verbosity: 'low',
    modalities: ['text'],
    logit_bias: { 1: 2 },
    logprobs: true,
    top_logprobs: 2,
    user: 'u',
    seed: 7,
    n: 2,
    top_k: 3,
    safe_prompt: true,
    reasoning_effort: 'low',
    tools: [{ function: { name: 'f' } }],
    parallel_tool_calls: false
  }
  const dialect = [
    'model',
    'messages',
    'stream',
    'stream_options',
    'max_completion_tokens',
    'metadata',
    'store',
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    'web_search_options',
    'prediction',
    'verbosity',
    'modalities',
    'logit_bias',
    'logprobs',
    'top_logprobs',
    'user',
    'seed',
    'n',
    'reasoning_effort',
    'tools',
    'parallel_tool_calls'
  ]
  const platformFields = [
    'metadata',
    'store',
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    'web_search_options',
    'prediction',
    'verbosity',
    'modalities'
  ]
  const tokens = 'max_completion_tokens→max_tokens'
  const changes: Partial<Record<ProviderKind, string[]>> = {
    openai: [],
    sandbox: [],
    'azure-openai': ['-service_tier', '-safety_identifier'],
    xai: [
      '-metadata',
      '-store',
      '-service_tier',
      '-safety_identifier',
      '-prompt_cache_retention',
      '-prediction',
      '-verbosity',
      '-modalities',
      '-logit_bias'
    ],
    mistral: [
      ...platformFields.map(field => `-${field}`),
      tokens,
      'seed→random_seed',
      '-logit_bias',
      '-logprobs',
      '-top_logprobs',
      '-user',
      '-stream_options',
      '+safe_prompt'
    ],
    groq: [
      ...platformFields.filter(field => field !== 'service_tier').map(field => `-${field}`),
      '-logit_bias',
      '-logprobs',
      '-top_logprobs',
      '-n'
    ],
    fireworks: [...platformFields.map(field => `-${field}`), tokens, '+top_k'],
    deepseek: [
      ...platformFields.map(field => `-${field}`),
      tokens,
      '-logit_bias',
      '-seed',
      '-user',
      '-parallel_tool_calls',
      '-n'
    ],
    together: [...platformFields.map(field => `-${field}`), tokens, '+top_k'],
    openrouter: ['-store', '-service_tier', 'reasoning_effort→reasoning', '+top_k', '-n'],
    ollama: [
      ...platformFields.map(field => `-${field}`),
      tokens,
      '-logprobs',
      '-top_logprobs',
      '-logit_bias',
      '-parallel_tool_calls',
      '-n'
    ],
    vllm: [...platformFields.map(field => `-${field}`), tokens, '+top_k'],
    sglang: [...platformFields.map(field => `-${field}`), tokens, '+top_k'],
    'llama.cpp': [...platformFields.map(field => `-${field}`), tokens, '+top_k', '-n'],
    'lm-studio': [...platformFields.map(field => `-${field}`), tokens, '-n'],
    'openai-compatible': [tokens]
  }
  for (const [kind, rows] of Object.entries(changes)) {
    const expected = new Set(dialect)
    for (const row of rows) {
      const [from = '', to] = row.split('→')
      if (to !== undefined) expected.add(to)
      if (row.startsWith('+')) expected.add(row.slice(1))
      else expected.delete(from.replace(/^-/, ''))
    }
    // a key of the table
    t.same(Object.keys(body(kind as ProviderKind, everything)).toSorted(), [...expected].toSorted(), kind)
  }
  t.same(
    providerKinds.filter(kind => kinds[kind].quirks !== undefined).toSorted(),
    Object.keys(changes).toSorted(),
    'every kind with quirks is in the table'
  )
})

t.test('a request for spoken answers is refused if they would be dropped', async t => {
  const audio = { format: 'wav' as const, voice: 'alloy' }
  for (const kind of [
    'mistral',
    'groq',
    'fireworks',
    'deepseek',
    'together',
    'ollama',
    'vllm',
    'sglang',
    'llama.cpp',
    'lm-studio',
    'xai'
  ] as const) {
    const refused = { code: 'unsupported_parameter', status: 400 }
    t.throws(
      () => body(kind, { modalities: ['text', 'audio'], audio }),
      { ...refused, param: 'modalities' },
      kind
    )
    t.throws(() => body(kind, { audio }), { ...refused, param: 'audio' }, kind)
    t.notOk('modalities' in body(kind, { modalities: ['text'] }), kind)
  }
  for (const kind of ['openai', 'azure-openai', 'openrouter', 'openai-compatible'] as const) {
    t.match(
      body(kind, { modalities: ['text', 'audio'], audio }),
      { modalities: ['text', 'audio'], audio },
      kind
    )
  }
})

t.test('only OpenAI and Azure get the developer role', async t => {
  const messages: ChatInput['messages'] = [{ role: 'developer', content: 'Be brief.' }]
  for (const kind of ['openai', 'azure-openai'] as const) {
    t.match(body(kind, { messages }), { messages }, kind)
  }
  for (const kind of [
    'xai',
    'mistral',
    'groq',
    'deepseek',
    'openai-compatible',
    'vllm',
    'openrouter'
  ] as const) {
    t.match(body(kind, { messages }), { messages: [{ role: 'system', content: 'Be brief.' }] }, kind)
  }
})

t.test(
  'only OpenAI and Azure get the deprecated functions; the others get tools and answer with function calls',
  async t => {
    const legacy: Partial<ChatInput> = {
      functions: [{ name: 'f', parameters: { properties: { a: { any_of: [] } } } }],
      function_call: { name: 'f' }
    }
    for (const kind of ['openai', 'azure-openai', 'vllm', 'mistral'] as const) {
      const known = kinds[kind].quirks?.legacyFunctions === true
      t.match(
        body(kind, legacy),
        known
          ? {
              functions: [{ name: 'f', parameters: { type: 'object', properties: { a: { anyOf: [] } } } }],
              function_call: { name: 'f' },
              tools: undefined
            }
          : {
              functions: undefined,
              function_call: undefined,
              tools: [{ type: 'function', function: { name: 'f' } }],
              tool_choice: { function: { name: 'f' } }
            },
        kind
      )
    }
    const {
      adapters: { chat },
      quirks
    } = made('vllm')
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
    const answer = {
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'c2' }] },
          finish_reason: 'tool_calls'
        }
      ]
    }
    const expected = [
      { type: 'answer-start' },
      { type: 'tool-call-start', choice: 0, callIndex: 0, id: '', name: 'f', kind: 'legacy' },
      { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'legacy' },
      { type: 'tool-call-end', choice: 0, callIndex: 0 },
      { type: 'choice-end', choice: 0, reason: 'function_call' }
    ]
    if (chat === undefined) throw new TypeError('vllm speaks chat')
    t.same(readResponse(chat, answer, ask(quirks, legacy)), expected)
    const read = readerOf(streamOf(chat, ask(quirks, legacy)))
    const message = { data: JSON.stringify(answer), event: undefined, id: undefined }
    t.same([...read(message), ...read({ ...message, data: '[DONE]' })], expected)
    t.match(
      readResponse(chat, answer, ask(quirks, { ...legacy, tools: [{ function: { name: 'g' } }] })).at(-1),
      { reason: 'tool_calls' },
      'with tools beside them the answer is in tools'
    )
    t.match(
      body('vllm', { ...legacy, tools: [{ function: { name: 'f' } }, { function: { name: 'g' } }] })[
        'tools'
      ],
      { length: 2 },
      'and a name is offered once'
    )
  }
)

t.test('tool call ids fit the strict server, and still match', async t => {
  const call = (id: string) => ({ id, type: 'function' as const, function: { name: 'f', arguments: '{}' } })
  const messages: ChatInput['messages'] = [
    { role: 'assistant', content: null, tool_calls: [call('call_0123456789'), call('abcDEF123')] },
    { role: 'tool', content: '1', tool_call_id: 'call_0123456789' },
    { role: 'tool', content: '2', tool_call_id: 'abcDEF123' }
  ]
  // as above
  const sentMessages = body('mistral', { messages })['messages'] as Array<{
    tool_calls: Array<{ id: string }>
    tool_call_id: string
  }>
  const ids = sentMessages[0]?.tool_calls.map(({ id }) => id)
  t.match(ids?.[0], /^[0-9a-f]{9}$/)
  t.equal(ids?.[1], 'abcDEF123')
  t.same(
    sentMessages.slice(1).map(message => message.tool_call_id),
    ids
  )
})

t.test('kind names occur only in their declaration and folder, models only in the catalogue', async t => {
  const root = join(import.meta.dirname, '../../..')
  const places = ['build/lib', 'build/pipelines', 'build/schemas'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.js'))
      .map(name => join(folder, name))
  )
  const names = new Set<string>(providerKinds)
  const declarations = new Set([
    'build/lib/providers/kinds.js',
    'build/schemas/providers.js',
    'build/lib/models/litellm-providers.js'
  ])
  const others = 'build/lib/import/' // the names other gateways use
  const guessed = 'build/lib/accounts/common-passwords.js' // there it is a word in passwords, not a kind
  const named = places
    .filter(place => place !== guessed && !declarations.has(place) && !place.startsWith(others))
    .flatMap(place => {
      const found: string[] = []
      full(
        parse(readFileSync(join(root, place), 'utf8'), { ecmaVersion: 'latest', sourceType: 'module' }),
        node => {
          if (!('value' in node) || typeof node.value !== 'string') return
          const { value } = node
          if (
            (names.has(value) || catalogue.some(({ id }) => id === value)) &&
            !place.split('/').includes(value)
          ) {
            found.push(`${place}: ${value}`)
          }
        }
      )
      return found
    })
  t.same(named, [])
})
