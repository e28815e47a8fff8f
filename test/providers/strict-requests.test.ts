/** Random requests and histories to every provider with rules: no body is sent that breaks one. */

import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { fitSystemMessages } from '../../lib/dialects/system-messages.ts'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { holds } from '../support/property.ts'
import { providerRules } from '../support/provider-rules.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { Message } from '../../schemas/messages.ts'

const models: Readonly<Partial<Record<ProviderKind, readonly string[]>>> = {
  openai: ['gpt-4.1', 'gpt-5', 'gpt-5.1', 'gpt-5.4', 'gpt-5.6-sol', 'gpt-6-astra', 'o4-mini', 'gpt-5-pro', 'gpt-5-chat-latest'],
  anthropic: ['claude-haiku-4-5', 'claude-opus-4-6', 'claude-opus-4-8', 'claude-opus-5', 'claude-sonnet-5-5', 'claude-3-5-sonnet'],
  google: ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-flash-preview', 'gemini-3-pro-preview'],
  mistral: ['mistral-small-latest'], xai: ['grok-4.6', 'grok-4.5', 'grok-4.3', 'grok-4-0709'], groq: ['qwen/qwen3.8-27b', 'openai/gpt-oss-120b'],
  vllm: ['m'], 'openai-compatible': ['m']
}

const text = fc.constantFrom('a', ' ', '\n\n', '', 'hello there')
const content = fc.oneof(text, fc.array(text.map(text => ({ type: 'text' as const, text })), { minLength: 1, maxLength: 2 }))
const id = fc.constantFrom('call_0', 'call_1', 'abc123xyz', 'a:b/c', 'chatcmpl-tool-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')
const calls = fc.uniqueArray(id, { minLength: 1, maxLength: 2 })

const turn: fc.Arbitrary<readonly Message[]> = fc.oneof(
  content.map((content): Message[] => [{ role: 'user', content }]),
  text.map((content): Message[] => [{ role: 'assistant', content }]),
  fc.tuple(fc.constantFrom('system' as const, 'developer' as const), text).map(([role, content]): Message[] => [{ role, content }]),
  fc.tuple(text, calls).map(([content, ids]): Message[] => [
    { role: 'assistant', content, tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{"p":1}' } })) },
    ...ids.map((id): Message => ({ role: 'tool', tool_call_id: id, content: 'r' }))
  ])
)

const property = fc.constantFrom<object>({ type: 'string' }, { type: 'array' }, { type: 'string', enum: ['', 'a'] }, { enum: ['x', null] }, { $ref: '#/$defs/d' }, { $ref: '#/properties/b' }, { $ref: '#/nowhere' }, { type: 'object' })
const branch = fc.record({ properties: fc.dictionary(fc.constantFrom('a', 'b'), property, { maxKeys: 2 }), required: fc.subarray(['a', 'ghost']) }, { requiredKeys: [] })
const schema = fc.record({
  type: fc.constantFrom<unknown>('object', undefined), properties: fc.dictionary(fc.constantFrom('a', 'b', 'c', '$filter', 'user name', 'x'.repeat(65)), property, { maxKeys: 3 }), required: fc.subarray(['a', 'c', 'ghost']),
  anyOf: fc.array(branch, { minLength: 1, maxLength: 2 }), allOf: fc.array(branch, { minLength: 1, maxLength: 2 }), $defs: fc.constant({ d: { type: 'array' } })
}, { requiredKeys: [] })

const requests: fc.Arbitrary<Partial<ChatInput>> = fc.record({
  messages: fc.array(turn, { minLength: 1, maxLength: 5 }).map(turns => turns.flat()),
  tools: fc.array(schema, { maxLength: 2 }).map(schemas => schemas.map((parameters, index) => ({ type: 'function' as const, function: { name: `f${index}`, parameters: JSON.parse(JSON.stringify(parameters)) as object } }))),
  reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  thinking: fc.constantFrom({ type: 'enabled', budget_tokens: 1024 }, { type: 'enabled', budget_tokens: 64_000 }, { type: 'adaptive' }, { type: 'disabled' }),
  max_completion_tokens: fc.constantFrom(1, 2000, 100_000), temperature: fc.constantFrom(0, 1, 2), top_p: fc.constantFrom(0.5, 1),
  stop: fc.constantFrom('END', []), presence_penalty: fc.constantFrom(0, 1), frequency_penalty: fc.constantFrom(0, 1)
}, { requiredKeys: ['messages'] }) as fc.Arbitrary<Partial<ChatInput>> // of fields it has

for (const [name, names] of Object.entries(models)) {
  const kind = name as ProviderKind // a key of the table
  const { adapters, quirks = {}, traits = {} } = kinds[kind]
  const rules = providerRules.filter(({ kinds }) => kinds.includes(kind))
  const { chat } = typeof adapters === 'function' ? adapters({}) : adapters

  t.test(`${kind} gets no request that it refuses by ${rules.length} rules`, async t => {
    let sent = 0
    holds(t, fc.property(fc.constantFrom(...names), requests, (model, request) => {
      const messages = fitSystemMessages(request.messages ?? [], traits) // as every dialect fits it
      let given: { readonly path: string, readonly body?: unknown } | undefined
      try {
        given = chat?.request({
          request: { model: `${kind}/${model}`, ...request, messages }, route: { providerId: kind, model, modelId: `${kind}/${model}`, traits: familyTraits(families, kind, model) }, quirks, streamed: false
        })
      } catch (error) {
        if (error instanceof GatewayError) return true // a clear refusal
        throw error
      }
      if (given === undefined) return false
      sent++
      const { path, body } = given
      const parsed = { model, ...JSON.parse(String(body)) as object }
      const broken = rules.filter(({ isBroken }) => isBroken(parsed, path))
      if (broken.length > 0) throw new Error(`${broken.map(({ rule }) => rule).join(' ')} ${String(body)}`)
      return true
    }), { numRuns: 300, seed: 1 })
    t.ok(sent > 100, `${sent} of them were sent`)
  })
}
