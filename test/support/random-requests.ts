/** Random requests and histories for the models of each kind of provider, and the bodies sent for them. */

import fc from 'fast-check'
import { GatewayError } from '../../lib/core/errors.ts'
import { fitSystemMessages } from '../../lib/dialects/system-messages.ts'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'
import type { Message } from '../../schemas/messages.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

export const requestedModels: Readonly<Partial<Record<ProviderKind, readonly string[]>>> = {
  openai: [
    'gpt-4.1',
    'gpt-5',
    'gpt-5.1',
    'gpt-5.4',
    'gpt-5.6-sol',
    'gpt-6-astra',
    'o4-mini',
    'gpt-5-pro',
    'gpt-5-chat-latest'
  ],
  anthropic: [
    'claude-haiku-4-5',
    'claude-opus-4-6',
    'claude-opus-4-8',
    'claude-opus-5',
    'claude-sonnet-5-5',
    'claude-fable-5',
    'claude-3-5-sonnet'
  ],
  google: [
    'gemini-2.5-flash',
    'gemini-2.5-flash-lite',
    'gemini-2.5-pro',
    'gemini-3-flash-preview',
    'gemini-3-pro-preview'
  ],
  mistral: ['mistral-small-latest', 'mistral-medium-latest', 'mistral-large-latest'],
  xai: ['grok-4.6', 'grok-4.5', 'grok-4.3', 'grok-4-0709'],
  groq: ['qwen/qwen3.8-27b', 'openai/gpt-oss-120b'],
  deepseek: ['deepseek-v4-flash'],
  vllm: ['m'],
  ollama: ['m'],
  'openai-compatible': ['m']
}

const text = fc.constantFrom('a', ' ', '\n\n', '', 'hello there')
const content = fc.oneof(
  text,
  fc.array(
    text.map(text => ({ type: 'text' as const, text })),
    { minLength: 1, maxLength: 2 }
  )
)
const image = fc
  .constantFrom('https://example.com/a.png', 'data:image/png;base64,iVBORw0KGgo=')
  .map(url => ({ type: 'image_url' as const, image_url: { url } }))
const file = fc.constant({
  type: 'file' as const,
  file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' }
})
const question = fc.oneof(
  { weight: 3, arbitrary: content },
  fc.array(
    fc.oneof(
      image,
      file,
      text.map(text => ({ type: 'text' as const, text }))
    ),
    { minLength: 1, maxLength: 3 }
  )
)
const id = fc.constantFrom(
  'call_0',
  'call_1',
  'abc123xyz',
  'a:b/c',
  'chatcmpl-tool-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
)
const calls = fc.uniqueArray(id, { minLength: 1, maxLength: 2 })

const name = fc.option(fc.constantFrom('ann', 'b c'), { nil: undefined })

const turn: fc.Arbitrary<readonly Message[]> = fc.oneof(
  question.map((content): Message[] => [{ role: 'user', content }]),
  fc
    .tuple(fc.constantFrom('user' as const, 'assistant' as const), text, name)
    .map(([role, content, name]): Message[] => [{ role, content, ...name !== undefined && { name } }]),
  text.map((refusal): Message[] => [{ role: 'assistant', content: null, refusal }]),
  text.map((refusal): Message[] => [{ role: 'assistant', content: [{ type: 'refusal', refusal }] }]),
  fc
    .tuple(
      text,
      fc.constantFrom<object>(
        { reasoning_content: 'hm' },
        { thinking_blocks: [{ type: 'thinking', thinking: 'hm' }] },
        { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] },
        {
          thinking_blocks: [{ type: 'redacted_thinking', data: 'd' }]
        },
        ...['d', 'oai1:rs_1:d'].map(data => (
          { thinking_blocks: [{ type: 'redacted_thinking', data }], turn_order: ['text', 'thinking'] }
        )),
        { annotations: [] },
        { audio: null }
      )
    )
    .map(([content, more]): Message[] => [{ role: 'assistant', content, ...more }]),
  fc
    .tuple(fc.constantFrom('system' as const, 'developer' as const), text, name)
    .map(([role, content, name]): Message[] => [{ role, content, ...name !== undefined && { name } }]),
  fc
    .tuple(fc.option(text), calls, fc.constantFrom('{"p":1}', '', '{}'), content)
    .map(([content, ids, json, result]): Message[] => [
      {
        role: 'assistant',
        content,
        tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: json } }))
      },
      ...ids.map((id): Message => ({ role: 'tool', tool_call_id: id, content: result }))
    ]),
  fc.constant<Message[]>([
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
    { role: 'function', name: 'f', content: 'r' }
  ])
)

const property = fc.constantFrom<object>(
  { type: 'string' },
  { type: 'array' },
  { type: 'string', enum: ['', 'a'] },
  { enum: ['x', null] },
  { $ref: '#/$defs/d' },
  { $ref: '#/properties/b' },
  { $ref: '#/nowhere' },
  { type: 'object' }
)
const branch = fc.record(
  {
    properties: fc.dictionary(fc.constantFrom('a', 'b'), property, { maxKeys: 2 }),
    required: fc.subarray(['a', 'ghost'])
  },
  { requiredKeys: [] }
)
const schema = fc.record(
  {
    type: fc.constantFrom<unknown>('object', undefined),
    properties: fc.dictionary(
      fc.constantFrom('a', 'b', 'c', '$filter', 'user name', 'x'.repeat(65)),
      property,
      { maxKeys: 3 }
    ),
    required: fc.subarray(['a', 'c', 'ghost']),
    anyOf: fc.array(branch, { minLength: 1, maxLength: 2 }),
    allOf: fc.array(branch, { minLength: 1, maxLength: 2 }),
    $defs: fc.constant({ d: { type: 'array' } })
  },
  { requiredKeys: [] }
)

/** Values that some providers refuse: in one request of six. */
function rarely (...values: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...values) }
  )
}

export const randomRequests: fc.Arbitrary<Partial<ChatInput>> = fc.record(
  {
    messages: fc.array(turn, { minLength: 1, maxLength: 5 }).map(turns => turns.flat()),
    tools: fc
      .array(schema, { maxLength: 2 })
      .map(schemas =>
        schemas.map((parameters, index) => ({
          type: 'function' as const,
          function: { name: `f${index}`, parameters: JSON.parse(JSON.stringify(parameters)) as object }
        }))
      ),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    thinking: fc.constantFrom(
      { type: 'enabled', budget_tokens: 1024 },
      { type: 'enabled', budget_tokens: 64_000 },
      { type: 'adaptive' },
      { type: 'disabled' }
    ),
    tool_choice: rarely(
      'auto',
      'none',
      'required',
      { type: 'function', function: { name: 'f0' } },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f0' } }] }
      }
    ),
    parallel_tool_calls: fc.boolean(),
    n: fc.constantFrom(1, 2),
    seed: fc.constantFrom(0, 7),
    logprobs: fc.constant(true),
    top_logprobs: fc.constantFrom(0, 3),
    user: fc.constantFrom('u', 'ann@example.com', ''),
    metadata: fc.constant({ a: 'b' }),
    service_tier: fc.constantFrom('auto', 'default', 'flex', 'priority'),
    store: fc.boolean(),
    verbosity: fc.constantFrom('low', 'high'),
    top_k: fc.constantFrom(0, 40),
    logit_bias: fc.constant({ 50256: -100 }),
    prompt_cache_key: fc.constant('k'),
    web_search_options: fc.constant({}),
    response_format: rarely(
      { type: 'text' },
      { type: 'json_object' },
      {
        type: 'json_schema',
        json_schema: {
          name: 's',
          schema: { type: 'object', properties: { a: { type: 'array' }, b: { enum: ['', 'x', null] } } },
          strict: true
        }
      }
    ),
    max_completion_tokens: fc.constantFrom(1, 2000, 100_000),
    temperature: fc.constantFrom(0, 1, 2),
    top_p: fc.constantFrom(0.5, 1),
    stop: fc.constantFrom('END', []),
    presence_penalty: fc.constantFrom(0, 1),
    frequency_penalty: fc.constantFrom(0, 1)
  },
  { requiredKeys: ['messages'] }
) as fc.Arbitrary<Partial<ChatInput>> // of fields it has

/** Returns the body sent to a provider; `undefined` if the caller gets a clear refusal instead. */
export function sentRequest (
  kind: ProviderKind,
  model: string,
  request: Partial<ChatInput>
): { readonly path: string, readonly body: JsonObject } | undefined {
  const { adapters, quirks = {}, traits = {} } = kinds[kind]
  const { chat } = typeof adapters === 'function' ? adapters({}) : adapters
  const messages = fitSystemMessages(request.messages ?? [], traits) // as every dialect fits it
  try {
    const sent = chat?.request({
      request: { model: `${kind}/${model}`, ...request, messages },
      route: {
        providerId: kind,
        model,
        modelId: `${kind}/${model}`,
        traits: familyTraits(families, kind, model)
      },
      quirks,
      streamed: false
    })
    // a body is an object
    return sent === undefined
      ? undefined
      : { path: sent.path, body: JSON.parse(String(sent.body)) as JsonObject }
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}
