import t from 'tap'
import {
  answerTokens,
  estimateOf,
  maxMediaTokens,
  RequestEstimate,
  requestedUnits,
  type EstimateParts
} from '../../lib/limits/estimate.ts'
import { noMedia, type PromptMedia } from '../../lib/limits/prompt-tokens.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/stages.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

function estimated (parts: EstimateParts): RequestEstimate<string> {
  return new RequestEstimate({ request: 'hello', routes: [route] }, () => estimateOf(parts))
}

t.test('what an estimate leaves out is as usual, and a call has one answer', async t => {
  t.strictSame(estimateOf({ prompt: { usual: 60 }, answer: { usual: 30 } }), {
    prompt: { usual: 60, most: 60, media: noMedia, writesCache: false },
    answer: { usual: 30, limit: undefined, least: 0, reasoning: 0, choices: 1, count: 1, searches: 0 },
    units: undefined,
    toolImages: 0,
    unpriced: undefined
  })
  const tokens = { prompt: { usual: 0 }, answer: { usual: 0 } }
  t.strictSame(estimateOf({ ...tokens, units: { usual: { pages: 1 }, most: { pages: 9 } } }).units, {
    usual: { pages: 1 }, most: { pages: 9 }, least: { pages: 9 }
  })
})

t.test('a request is estimated once, on first use', async t => {
  const reads: unknown[] = []
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, (request, routes) => {
    reads.push([request, routes])
    return estimateOf({ prompt: { usual: 60 }, answer: { usual: 30 } })
  })
  t.strictSame(reads, [])
  t.equal(estimate.countPrompt(), 60)
  t.equal(estimate.countAnswer(), 30)
  t.strictSame(reads, [['hello', [route]]])
})

t.test('an answer without a limit counts as one of usual length per choice', async t => {
  const prompt = { usual: 1 }
  t.equal(estimated({ prompt, answer: { usual: 50_000 } }).countAnswer(), answerTokens)
  t.equal(estimated({ prompt, answer: { usual: 50_000, choices: 2 } }).countAnswer(), 2 * answerTokens)
})

t.test('media count in addition to the prompt once their token counts are known', async t => {
  const estimate = estimated({ prompt: { usual: 60 }, answer: { usual: 30 } })
  estimate.countMediaAs(40_000)
  t.equal(estimate.countPrompt(), 40_060)
})

t.test('a request billed in other units has no tokens of its own', async t => {
  const tokens = { prompt: { usual: 60 }, answer: { usual: 30 } }
  const estimate = estimated({ ...tokens, units: { usual: { characters: 5 } } })
  t.equal(estimate.countPrompt(), undefined)
  t.strictSame(estimate.estimateUnits(), { characters: 5, promptTokens: 60, completionTokens: 30 })
  t.equal(estimated(tokens).estimateUnits(), undefined)
})

t.test('a request without an estimate uses nothing', async t => {
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, undefined)
  t.strictSame([estimate.countPrompt(), estimate.countAnswer()], [0, 0])
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

t.test('a request reserves the maximum of each unit it uses, and nothing of other units', async t => {
  const tokens = { prompt: { usual: 9 }, answer: { usual: 9 } }
  t.same(requestedUnits(estimateOf(tokens)), {})
  t.same(requestedUnits(estimateOf({ ...tokens, units: { usual: { images: { count: 2 } } } })), {
    images: { most: 2, least: 2, usual: 2 }
  })
  t.same(requestedUnits({ ...estimateOf(tokens), toolImages: 1 }), { images: { most: 1 } })
  const pages = { usual: { pages: 1 }, most: { pages: 1000 }, least: { pages: 1 } }
  t.same(requestedUnits(estimateOf({ ...tokens, units: pages })), {
    pages: { most: 1000, least: 1, usual: 1 }
  })
  t.same(requestedUnits(estimateOf({ ...tokens, units: { usual: { audioSeconds: 1.5 } } })), {
    audio_ms: { most: 1500, least: 1500, usual: 1500 }
  })
})
