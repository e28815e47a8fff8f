import t from 'tap'
import { percentile } from '../../lib/load/percentile.ts'

t.test('a percentile is a value that occurred', async t => {
  t.equal(percentile([1, 2, 3, 4], 0.99), 4)
  t.equal(percentile([1, 2, 3, 4], 0.5), 3)
  t.ok(Number.isNaN(percentile([], 0.5)))
})
