import t from 'tap'
import { Histogram } from '../../lib/core/histogram.ts'

t.test('a histogram counts each value in the first bucket that it does not exceed', async t => {
  const histogram = new Histogram([1, 5])
  t.equal(histogram.isEmpty, true)
  for (const value of [0.5, 1, 1.5, 5, 9]) histogram.observe(value)
  t.equal(histogram.isEmpty, false)
  const { value } = histogram
  t.strictSame(value, { bounds: [1, 5], counts: [2, 2, 1], sum: 17 })
  histogram.observe(1)
  t.strictSame(value.counts, [2, 2, 1], 'as it was')
})
