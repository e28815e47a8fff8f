import t from 'tap'
import {
  addRefund,
  recordedAfterMs as windowMs,
  unrecordedRefunds,
  type Refunds
} from '../../lib/usage/refunds.ts'

t.test('a refund counts for one to two windows', async t => {
  let refunds: Refunds = addRefund(undefined, 5, 1000)
  refunds = addRefund(refunds, 3, 999 + windowMs)
  t.equal(unrecordedRefunds(refunds, 999 + windowMs), 8)
  t.equal(unrecordedRefunds(refunds, 999 + 2 * windowMs), 8, 'the second one for a window')
  const third = addRefund(refunds, 1, 1000 + windowMs)
  t.equal(unrecordedRefunds(third, 1000 + windowMs), 9)
  t.equal(unrecordedRefunds(third, 1000 + 2 * windowMs), 1)
  t.equal(unrecordedRefunds(refunds, 1000 + 2 * windowMs), 0)
  t.equal(unrecordedRefunds(addRefund(refunds, 1, 1000 + 2 * windowMs), 1000 + 2 * windowMs), 1)
})
