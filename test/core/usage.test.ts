import t from 'tap'
import { addUsage, possibleUsage } from '../../lib/core/usage.ts'

const one = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }

t.test('turns are added up field by field; what none reported stays absent', async t => {
  const sum = addUsage(
    { ...one, cachedTokens: 1, searches: 0 },
    { promptTokens: 10, completionTokens: 20, totalTokens: 30, cachedTokens: 5, reasoningTokens: 4 }
  )
  t.strictSame(sum, {
    promptTokens: 11,
    completionTokens: 22,
    totalTokens: 33,
    cachedTokens: 6,
    searches: 0,
    reasoningTokens: 4
  })
})

t.test('one of the two alone is the sum, and nothing is nothing', async t => {
  t.equal(addUsage(undefined, one), one)
  t.equal(addUsage(one, undefined), one)
  t.equal(addUsage(undefined, undefined), undefined)
})

t.test('no usage are counts that cannot be, and zeros alone', async t => {
  t.equal(possibleUsage(one), one)
  t.equal(possibleUsage({ ...one, cachedTokens: 2e9 }), undefined)
  t.equal(possibleUsage({ promptTokens: 0, completionTokens: 0, totalTokens: 0 }), undefined)
  t.ok(possibleUsage({ promptTokens: 0, completionTokens: 0, totalTokens: 0, searches: 1 }))
})
