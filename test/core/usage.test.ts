import t from 'tap'
import { addUsage, capParts, estimatedRequests, possibleUsage, sumOfUsage } from '../../lib/core/usage.ts'

const one = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }

t.test('turns are summed field by field, and fields that none reported stay absent', async t => {
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

t.test('if only one is present it is the sum; two absent ones give undefined', async t => {
  t.equal(addUsage(undefined, one), one)
  t.equal(addUsage(one, undefined), one)
  t.equal(addUsage(undefined, undefined), undefined)
})

t.test('impossible counts and all zeros are not usage', async t => {
  t.equal(possibleUsage(one), one)
  t.equal(possibleUsage({ ...one, cachedTokens: 2e9 }), undefined)
  t.equal(possibleUsage({ promptTokens: 0, completionTokens: 0, totalTokens: 0 }), undefined)
  t.ok(possibleUsage({ promptTokens: 0, completionTokens: 0, totalTokens: 0, searches: 1 }))
})

t.test('a partly reported answer counts what was reported, and at least a token per four characters', t => {
  const reported = { promptTokens: 100, completionTokens: 7, totalTokens: 107, cachedTokens: 90 }
  const known = { ...reported, promptTokens: 100 }
  for (const [name, requests, unreported, characters, expected] of [
    ['nothing was reported', [], 1, 9, { promptTokens: 50, completionTokens: 3, totalTokens: 53 }],
    ['more than the estimate', [reported], 0, 9, known],
    ['less than the estimate', [reported], 0, 40, { ...known, completionTokens: 10, totalTokens: 110 }],
    ['one of three requests', [reported], 2, 9, { ...known, promptTokens: 200, totalTokens: 207 }],
    ['no request', [], 0, 9, { promptTokens: 0, completionTokens: 3, totalTokens: 3 }]
  ] as const) t.same(sumOfUsage(estimatedRequests({ requests, unreported }, 50, characters)), expected, name)
  t.same(estimatedRequests({ requests: [reported], unreported: 1 }, 50, 40), [
    known, { promptTokens: 50, completionTokens: 3, totalTokens: 53 }
  ], 'each request has its own prompt')
  t.end()
})

t.test('no kind of token counts more than the kind it is part of', t => {
  t.equal(capParts(one), one, 'the same object if nothing has to change')
  t.same(
    capParts({
      promptTokens: 10, completionTokens: 5, totalTokens: 15,
      cachedTokens: 12, cacheWriteTokens: 11, cacheWriteHourTokens: 20, reasoningTokens: 5
    }),
    {
      promptTokens: 10, completionTokens: 5, totalTokens: 15,
      cachedTokens: 10, cacheWriteTokens: 10, cacheWriteHourTokens: 10, reasoningTokens: 5
    }
  )
  t.end()
})
