import t from 'tap'
import { addRefund, unrecordedRefunds, type Refunds } from '../../lib/limits/refunds.ts'

t.test('an amount that was given back counts for one to two minutes', async t => {
  t.equal(unrecordedRefunds(undefined, 0), 0)
  let refunds: Refunds | undefined = addRefund(undefined, 5, 1000)
  refunds = addRefund(refunds, 3, 60_999)
  t.equal(unrecordedRefunds(refunds, 60_999), 8)
  t.equal(unrecordedRefunds(refunds, 120_999), 8, 'the second for a minute')
  t.equal(unrecordedRefunds(addRefund(refunds, 1, 61_000), 61_000), 9)
  t.equal(unrecordedRefunds(addRefund(refunds, 1, 61_000), 121_000), 1)
  t.equal(unrecordedRefunds(refunds, 121_000), 0)
  t.equal(unrecordedRefunds(addRefund(refunds, 1, 121_000), 121_000), 1)
})
