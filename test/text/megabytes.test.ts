import t from 'tap'
import { megabytes } from '../../lib/text/megabytes.ts'

t.test('sizes are printed in the unit of the limits', async t => {
  t.equal(megabytes(25 * 1024 * 1024), '25 MB')
  t.equal(megabytes(50_000_000), '47.7 MB')
  t.equal(megabytes(100_001), '0.1 MB')
  t.equal(megabytes(900), '900 bytes')
})
