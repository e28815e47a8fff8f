import t from 'tap'
import {
  maxAnswerCostOf,
  maxCompletionOf,
  maxCostOf,
  outputLimitOf,
  affordableTokens,
  maxMediaTokens
} from '../../lib/limits/max-cost.ts'
import { noMedia, noTokens, type PromptMedia } from '../../lib/limits/estimate.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import { estimateChat } from '../../lib/limits/estimate-chat.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const asOf = '2026-01-01'
const prices: Record<string, ModelEntry['price']> = {
  'one/cheap': { input: 1, output: 2, asOf },
  'one/expensive': { input: 10, output: 20, asOf },
  'one/images': { input: 1, output: 40, images: [{ usd: 0.167 }], asOf },
  'one/only-images': { input: 1, images: [{ usd: 0.167 }], asOf },
  'one/cached': { input: 1, output: 2, cacheWrite: 1.25, cacheWriteHour: 2, asOf }
}
const limits: Record<string, number> = { 'one/cheap': 100, 'one/expensive': 200 }
const models = {
  find: (id: string): ModelEntry => {
    const [price, limit] = [prices[id], limits[id]]
    return {
      ...unknownModelEntry('one', id.slice(4), 'openai'),
      ...price !== undefined && { price },
      capabilities: limit === undefined ? {} : { output_token_limit: limit }
    }
  }
}
const cheap = route('one/cheap')
const expensive = route('one/expensive')
const cached = route('one/cached')
const free = route('one/unpriced')

t.test('a call may cost as much as its most expensive model', async t => {
  const amounts = { prompt: 1000, completion: 100 }
  t.equal(maxCostOf([cheap], models, amounts), 1_200_000)
  t.equal(maxCostOf([cheap, expensive, free], models, amounts), 12_000_000)
  t.equal(maxCostOf([free], models, amounts), 0)
  t.equal(
    maxCostOf([cached], models, { ...amounts, writesCache: true }),
    2_200_000,
    'all of the prompt written for an hour'
  )
  t.equal(
    maxCostOf([expensive], models, { prompt: 1, completion: Infinity }),
    2 ** 52,
    'a bound that can be added up'
  )
})

t.test('units cost what is billed for them, the prompt, and tokens beside them', async t => {
  const amounts = { prompt: 1000, completion: 6500, units: { images: { count: 1 } } }
  t.equal(maxCostOf([route('one/images')], models, amounts), 168_000_000)
  t.equal(maxCostOf([route('one/images')], models, { ...amounts, answerTokens: 300 }), 180_000_000)
  t.equal(
    maxCostOf([route('one/only-images')], models, { ...amounts, answerTokens: 300 }),
    168_000_000,
    'a model without a price for tokens of answers does not bill them'
  )
})

t.test('answers cost what they add', async t => {
  t.equal(maxAnswerCostOf([cheap, expensive], models, { prompt: 1000 }), 20_000_000_000)
  t.equal(maxAnswerCostOf([free], models, { prompt: 1000 }), 0)
})

t.test('the answer is limited by the request, else by the largest model', async t => {
  const { answer } = noTokens
  t.equal(maxCompletionOf({ ...answer, limit: 7, count: 3 }, [cheap], models, 1), 21)
  t.equal(maxCompletionOf(answer, [cheap, expensive], models, 5000), 200)
  t.equal(
    maxCompletionOf(answer, [cheap, free], models, 5000),
    5000,
    'the default where a model has no known limit'
  )
  t.equal(
    maxCompletionOf({ ...answer, reasoning: 100, count: 2 }, [free], models, 5000),
    10_200,
    'and what it may reason with'
  )
  t.equal(
    maxCompletionOf({ ...answer, reasoning: 100 }, [cheap, expensive], models, 150),
    200,
    'but no more than the model can'
  )
  t.same([outputLimitOf(models.find('one/cheap')), outputLimitOf(undefined)], [100, Infinity])
})

const sent = (counts: Partial<PromptMedia> = {}, prompts = 1) => (
  { counts: { ...noMedia, ...counts }, bodyBytes: 23_000, prompts }
)
const modelOf = (limit?: number, upstreamApi = 'openai/responses'): ModelEntry => ({
  ...unknownModelEntry('one', 'm', 'openai'),
  upstreamApi,
  capabilities: limit === undefined ? {} : { input_token_limit: limit }
})

t.test('media count like the largest item, and no more than a model reads', async t => {
  t.equal(maxMediaTokens(sent(), modelOf()), 0)
  t.equal(maxMediaTokens(undefined, modelOf()), 0)
  t.equal(maxMediaTokens(sent({ images: 2 }), modelOf()), 80_000)
  t.equal(maxMediaTokens(sent({ images: 2 }), modelOf(50_000)), 50_000)
  t.equal(maxMediaTokens(sent({ images: 2 }), modelOf(200_000, 'anthropic/messages')), 10_000)
  t.equal(
    maxMediaTokens(sent({ recordings: 3 }), modelOf()),
    1000,
    'together they are no longer than the body'
  )
  t.equal(maxMediaTokens(sent({ images: 1, others: 1 }, 3), modelOf(60_000)), 180_000)
  t.equal(maxMediaTokens(sent({ others: 1 }), undefined), 1_000_000, 'of a model of which nothing is known')
})

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
