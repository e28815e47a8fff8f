import t from 'tap'
import {
  beginTurn, endTurn, estimatedTurn, noteOutput, noteUsage, UsageFacts
} from '../../lib/core/usage-facts.ts'

const usage = (promptTokens: number, completionTokens: number) => ({
  promptTokens, completionTokens, totalTokens: promptTokens + completionTokens
})

t.test('usage is summed over all turns, each counted once however often it is reported', async t => {
  const recorded = new UsageFacts()
  recorded.isEstimated = true
  noteUsage(recorded, usage(10, 1), undefined)
  noteUsage(recorded, usage(10, 5), undefined)
  t.strictSame(
    [recorded.total, recorded.answers.length],
    [usage(10, 5), 1],
    'a later report of the same answer replaces the earlier'
  )
  const first = recorded.total
  noteUsage(recorded, usage(20, 2), first)
  t.strictSame(recorded.total, usage(30, 7))
  t.strictSame(recorded.answers, [
    { earlier: undefined, usage: usage(10, 5) },
    { earlier: first, usage: usage(20, 2) }
  ])
  t.equal(recorded.isEstimated, false)
})

t.test('an answer that took several requests has the usage of each', async t => {
  const recorded = new UsageFacts()
  noteUsage(recorded, usage(10, 1), undefined)
  noteUsage(recorded, usage(20, 3), undefined, [usage(10, 1), usage(10, 2)])
  const answers = [
    { earlier: undefined, usage: usage(20, 3), requests: [usage(10, 1), usage(10, 2)] }
  ]
  t.strictSame([recorded.total, recorded.answers], [usage(20, 3), answers])
  noteUsage(recorded, usage(20, 3), undefined, [usage(10, 1), usage(10, 2)])
  t.strictSame(recorded.answers, answers, 'a later report replaces it')
})

t.test('counts of parts are limited to those of their wholes, as costs assume', async t => {
  const recorded = new UsageFacts()
  noteUsage(recorded, { ...usage(10, 1), cachedTokens: 12, reasoningTokens: 3 }, undefined)
  t.match(recorded.total, { cachedTokens: 10, reasoningTokens: 1 })
  t.match(recorded.answers, [{ usage: { cachedTokens: 10, reasoningTokens: 1 } }])
})

t.test('output is summed, and stays absent until there is some', async t => {
  const recorded = new UsageFacts()
  noteOutput(recorded, 0)
  t.equal(recorded.outputCharacters, undefined)
  noteOutput(recorded, 6)
  noteOutput(recorded, 1)
  t.equal(recorded.outputCharacters, 7)
})

t.test('a turn that reports no usage is estimated from its own output', async t => {
  const recorded = new UsageFacts()
  noteOutput(recorded, 100)
  beginTurn(recorded, { requestCount: 1, attemptsAtWork: 1 }, () => 7)
  noteOutput(recorded, 40)
  const { openTurn } = recorded
  if (openTurn === undefined) throw new Error('no turn is open')
  t.equal(openTurn.requestCount, 1)
  const estimated = estimatedTurn(openTurn, recorded)
  t.match(estimated, [{ promptTokens: 7, completionTokens: 10 }])
  endTurn(recorded, false)
  t.same([recorded.total, recorded.isEstimated, recorded.openTurn], [...estimated, true, undefined])
})

t.test('a turn that reported its usage is not estimated', async t => {
  const recorded = new UsageFacts()
  beginTurn(recorded, { requestCount: 0, attemptsAtWork: 0 }, () => 7)
  noteUsage(recorded, usage(3, 4), undefined)
  endTurn(recorded, true)
  t.same([recorded.total, recorded.isEstimated], [usage(3, 4), false])
})
