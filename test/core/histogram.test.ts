import t from 'tap'
import { Histogram } from '../../lib/core/histogram.ts'

t.test('a histogram counts each value in the first bucket that it does not exceed', async t => {
  const histogram = new Histogram([1, 5])
  for (const value of [0.5, 1, 1.5, 5, 9]) histogram.observe(value)
  const { value } = histogram
  t.strictSame(value, { bounds: [1, 5], counts: [2, 2, 1], sum: 17 })
  histogram.observe(1)
  t.strictSame(value.counts, [2, 2, 1], 'unchanged')
})

t.test('each bucket has the trace of its last value', async t => {
  const histogram = new Histogram([1, 5])
  histogram.observe(0.5, { traceId: 'a', spanId: '1' })
  histogram.observe(0.7, { traceId: 'b', spanId: '2' })
  histogram.observe(0.9)
  histogram.observe(7, { traceId: 'c', spanId: '3' })
  t.match(histogram.value.exemplars, {
    0: { traceId: 'b', spanId: '2', value: 0.7 },
    1: undefined,
    2: { traceId: 'c', value: 7 }
  })
  t.ok(Math.abs((histogram.value.exemplars?.[2]?.atMs ?? 0) - Date.now()) < 60_000)
  t.notOk('exemplars' in new Histogram([1]).value)
})
