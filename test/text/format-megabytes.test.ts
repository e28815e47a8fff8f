import t from 'tap'
import { formatMegabytes } from '../../lib/text/format-megabytes.ts'

t.test('sizes are printed in the unit of the limits', async t => {
  t.equal(formatMegabytes(25 * 1024 * 1024), '25 MB')
  t.equal(formatMegabytes(50_000_000), '47.7 MB')
  t.equal(formatMegabytes(100_001), '0.1 MB')
  t.equal(formatMegabytes(900), '900 bytes')
})
