import t from 'tap'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { sleep } from '../../lib/async/sleep.ts'
import { countTurns } from '../support/turns.ts'

t.test('a sleep takes its time, and one of 0 ms takes no tick of the event loop', async t => {
  const turns = countTurns(t)
  const started = performance.now()
  await sleep(0, new CallCancellation().standard)
  t.equal(turns(), 0)
  await sleep(20, new CallCancellation())
  t.ok(performance.now() - started >= 19)
})

t.test('a sleep rejects with the reason of its signal', async t => {
  const reason = new Error('left')
  const signal = new CallCancellation()
  const waiting = sleep(60_000, signal)
  signal.abort(reason)
  await t.rejects(waiting, reason)
  await t.rejects(sleep(60_000, signal), reason, 'also when the signal has aborted before')
  await t.resolves(sleep(0, signal), 'but a sleep of 0 ms does not reject')
})
