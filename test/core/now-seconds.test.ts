import t from 'tap'
import { nowSeconds } from '../../lib/core/now-seconds.ts'

t.test('the time is in seconds, never ahead', async t => {
  const before = Date.now()
  const seconds = nowSeconds()
  t.ok(Number.isInteger(seconds))
  t.ok(seconds * 1000 > before - 1000 && seconds * 1000 <= Date.now())
})
