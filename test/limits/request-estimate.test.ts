import t from 'tap'
import { answerTokens, type Estimate } from '../../lib/limits/estimate.ts'
import { RequestEstimate } from '../../lib/limits/request-estimate.ts'
import { route } from '../support/stages.ts'

function estimateOf (estimate: Estimate): RequestEstimate<string> {
  return new RequestEstimate({ request: 'hello', routes: [route] }, () => estimate)
}

t.test('a request is estimated when that is first asked for, and then no more', async t => {
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

t.test('an answer without a bound counts as one of usual length for each choice', async t => {
  t.equal(estimateOf({ prompt: 1, completion: 50_000 }).countAnswer(), answerTokens)
  t.equal(estimateOf({ prompt: 1, completion: 50_000, choices: 2 }).countAnswer(), 2 * answerTokens)
})

t.test('media count beside the prompt once it is said how many tokens they take', async t => {
  const estimate = estimateOf({ prompt: 60, completion: 30 })
  estimate.countMediaAs(40_000)
  t.equal(estimate.countPrompt(), 40_060)
})

t.test('a request billed by other units than tokens has no tokens of its own', async t => {
  const estimate = estimateOf({ prompt: 60, completion: 30, units: { characters: 5 } })
  t.equal(estimate.countPrompt(), undefined)
  t.strictSame(estimate.estimateUnits(), { characters: 5, promptTokens: 60, completionTokens: 30 })
  t.equal(estimateOf({ prompt: 60, completion: 30 }).estimateUnits(), undefined)
})

t.test('a request that nothing estimates uses nothing', async t => {
  const estimate = new RequestEstimate({ request: 'hello', routes: [route] }, undefined)
  t.strictSame([estimate.countPrompt(), estimate.countAnswer()], [0, 0])
})
