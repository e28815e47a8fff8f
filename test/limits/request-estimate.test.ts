import t from 'tap'
import { answerTokens, type Estimate } from '../../lib/limits/estimate.ts'
import { RequestEstimate } from '../../lib/limits/request-estimate.ts'
import { route } from '../support/stages.ts'

function estimateOf (estimate: Estimate): RequestEstimate<string> {
  return new RequestEstimate({ request: 'hello', routes: [route] }, () => estimate)
}

t.test('a request is estimated once, on first use', async t => {
  const estimated: unknown[] = []
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, (request, routes) => {
    estimated.push([request, routes])
    return { prompt: 60, completion: 30 }
  })
  t.strictSame(estimated, [])
  t.equal(estimate.countPrompt(), 60)
  t.equal(estimate.countAnswer(), 30)
  t.strictSame(estimated, [['hello', [route]]])
})

t.test('an answer without a limit counts as one of usual length per choice', async t => {
  t.equal(estimateOf({ prompt: 1, completion: 50_000 }).countAnswer(), answerTokens)
  t.equal(estimateOf({ prompt: 1, completion: 50_000, choices: 2 }).countAnswer(), 2 * answerTokens)
})

t.test('media count in addition to the prompt once their token counts are known', async t => {
  const estimate = estimateOf({ prompt: 60, completion: 30 })
  estimate.countMediaAs(40_000)
  t.equal(estimate.countPrompt(), 40_060)
})

t.test('a request billed in other units has no tokens of its own', async t => {
  const estimate = estimateOf({ prompt: 60, completion: 30, units: { characters: 5 } })
  t.equal(estimate.countPrompt(), undefined)
  t.strictSame(estimate.estimateUnits(), { characters: 5, promptTokens: 60, completionTokens: 30 })
  t.equal(estimateOf({ prompt: 60, completion: 30 }).estimateUnits(), undefined)
})

t.test('a request without an estimate uses nothing', async t => {
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, undefined)
  t.strictSame([estimate.countPrompt(), estimate.countAnswer()], [0, 0])
})
