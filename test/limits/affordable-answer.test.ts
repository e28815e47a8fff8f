import t from 'tap'
import { affordableTokens } from '../../lib/limits/affordable-answer.ts'
import { estimateChat } from '../../lib/limits/estimate-chat.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

const request: ChatInput = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(400) }] }
const modelsAt = (price?: ModelEntry['price']) => ({
  find: (): ModelEntry => ({
    ...unknownModelEntry('one', 'm', 'openai'),
    capabilities: { output_token_limit: 4096 },
    ...price !== undefined && { price }
  })
})
const priced = modelsAt({ input: 1, output: 10, asOf: '2026-01-01' })

function callWith (reserved: number | undefined, parts: Partial<ChatInput> = {}) {
  const call = routedCall({ ...request, ...parts })
  call.record.cost.maxCostNanoUsd = reserved
  return call
}

t.test('a call without a reservation is not limited', async t => {
  t.equal(affordableTokens(callWith(undefined), priced), undefined)
})

t.test('the answer may use what the longest possible prompt leaves', async t => {
  // 101 tokens by its characters: at most 218, at 1000 billionths each; 10,000 for a token of the answer.
  t.strictSame(affordableTokens(callWith(218_000 + 50_000), priced), { affordable: 5, bound: 4096, min: 16 })
  t.equal(affordableTokens(callWith(217_999), priced)?.affordable, -1, 'not even the prompt')
})

t.test('usage of earlier turns is deducted first', async t => {
  const call = callWith(218_000 + 100_000 + 50_000)
  call.record.usage.total = { promptTokens: 50, completionTokens: 5, totalTokens: 55 }
  t.equal(affordableTokens(call, priced)?.affordable, 5)
})

t.test('billed usage of failed attempts is deducted first', async t => {
  const call = callWith(218_000 + 100_000 + 50_000)
  const usage = { promptTokens: 50, completionTokens: 5, totalTokens: 55 }
  call.record.usage.wasted = [{ modelId: call.routes[0].modelId, usage }]
  t.equal(affordableTokens(call, priced)?.affordable, 5)
  call.record.caller.usesOwnProviderKey = true
  t.equal(affordableTokens(call, priced), undefined, 'the provider bills the caller')
})

t.test('searches are deducted first, both allowed and completed ones', async t => {
  const searching = modelsAt({ input: 1, output: 10, perThousandSearches: 10, asOf: '2026-01-01' })
  const asWritten = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }
  const { prompt } = estimateChat({ ...request, asWritten })
  const call = callWith(prompt.max * 1000 + 5 * 10_000_000 + 50_000, { asWritten })
  call.record.usage.total = { promptTokens: 0, completionTokens: 0, totalTokens: 0, searches: 2 }
  t.equal(affordableTokens(call, searching)?.affordable, 5)
})

t.test('choices share the amount, and the request limits each', async t => {
  t.strictSame(
    affordableTokens(callWith(2 * 218_000 + 100_000, { n: 2, max_completion_tokens: 7 }), priced),
    { affordable: 5, bound: 7, min: 7 }
  )
})

t.test('free answers are unlimited', async t => {
  t.equal(
    affordableTokens(callWith(0), modelsAt({ input: 0, output: 0, asOf: '2026-01-01' }))?.affordable,
    Infinity
  )
})

t.test('settings of routes limit the answer, and a loose estimate may cost more', async t => {
  const call = callWith(218_000 + 50_000)
  const routes = [{ ...call.routes[0], settings: { max_tokens: 7 } }] as const
  t.strictSame(affordableTokens({ ...call, routes }, priced), { affordable: 5, bound: 7, min: 7 })
  t.equal(
    affordableTokens(call, priced, request => {
      const estimate = estimateChat(request)
      return { ...estimate, prompt: { ...estimate.prompt, max: 228 } }
    })?.affordable,
    4
  )
})
