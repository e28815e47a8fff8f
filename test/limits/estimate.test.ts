import t from 'tap'
import {
  answerTokens,
  estimateOf,
  RequestEstimate,
  noMedia,
  requestedUnits,
  type EstimateParts
} from '../../lib/limits/estimate.ts'
import { route } from '../support/stages.ts'

function estimated (parts: EstimateParts): RequestEstimate<string> {
  return new RequestEstimate({ request: 'hello', routes: [route] }, () => estimateOf(parts))
}

t.test('what an estimate leaves out is as usual, and a call has one answer', async t => {
  t.strictSame(estimateOf({ prompt: { typical: 60 }, answer: { typical: 30 } }), {
    prompt: { typical: 60, max: 60, media: noMedia, writesCache: false },
    answer: { typical: 30, limit: undefined, min: 0, reasoning: 0, choices: 1, count: 1, searches: 0 },
    units: undefined,
    toolImages: 0,
    unpriced: undefined
  })
  const tokens = { prompt: { typical: 0 }, answer: { typical: 0 } }
  t.strictSame(estimateOf({ ...tokens, units: { typical: { pages: 1 }, max: { pages: 9 } } }).units, {
    typical: { pages: 1 }, max: { pages: 9 }, min: { pages: 9 }, answerTokens: 0
  })
})

t.test('a request is estimated once, on first use', async t => {
  const reads: unknown[] = []
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, (request, routes) => {
    reads.push([request, routes])
    return estimateOf({ prompt: { typical: 60 }, answer: { typical: 30 } })
  })
  t.strictSame(reads, [])
  t.equal(estimate.countPrompt(), 60)
  t.equal(estimate.countAnswer(), 30)
  t.strictSame(reads, [['hello', [route]]])
})

t.test('an answer without a limit counts as one of usual length per choice', async t => {
  const prompt = { typical: 1 }
  t.equal(estimated({ prompt, answer: { typical: 50_000 } }).countAnswer(), answerTokens)
  t.equal(estimated({ prompt, answer: { typical: 50_000, choices: 2 } }).countAnswer(), 2 * answerTokens)
})

t.test('media count in addition to the prompt once their token counts are known', async t => {
  const estimate = estimated({ prompt: { typical: 60 }, answer: { typical: 30 } })
  estimate.mediaTokens = 40_000
  t.equal(estimate.countPrompt(), 40_060)
})

t.test('a request billed in other units has no tokens of its own', async t => {
  const tokens = { prompt: { typical: 60 }, answer: { typical: 30 } }
  const estimate = estimated({ ...tokens, units: { typical: { characters: 5 } } })
  t.equal(estimate.countPrompt(), undefined)
  t.strictSame(estimate.estimateUnits(), { characters: 5, promptTokens: 60, completionTokens: 30 })
  t.equal(estimated(tokens).estimateUnits(), undefined)
})

t.test('a request without an estimate uses nothing', async t => {
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, undefined)
  t.strictSame([estimate.countPrompt(), estimate.countAnswer()], [0, 0])
})

t.test('a request reserves the maximum of each unit it uses, and nothing of other units', async t => {
  const tokens = { prompt: { typical: 9 }, answer: { typical: 9 } }
  t.same(requestedUnits(estimateOf(tokens)), {})
  t.same(requestedUnits(estimateOf({ ...tokens, units: { typical: { images: { count: 2 } } } })), {
    images: { max: 2, min: 2, typical: 2 }
  })
  t.same(requestedUnits({ ...estimateOf(tokens), toolImages: 1 }), { images: { max: 1 } })
  const pages = { typical: { pages: 1 }, max: { pages: 1000 }, min: { pages: 1 } }
  t.same(requestedUnits(estimateOf({ ...tokens, units: pages })), {
    pages: { max: 1000, min: 1, typical: 1 }
  })
  t.same(requestedUnits(estimateOf({ ...tokens, units: { typical: { audioSeconds: 1.5 } } })), {
    audio_ms: { max: 1500, min: 1500, typical: 1500 }
  })
})
