import t from 'tap'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { Flight } from '../../lib/cache/flight.ts'

t.test('a flight continues while anyone waits for it', async t => {
  const flight = new Flight()
  const [one, two] = [new CallCancellation(), new CallCancellation()]
  const [first, second] = [flight.wait(one), flight.wait(two)]
  t.ok(flight.isAwaited)
  flight.leave('first')
  t.equal(flight.signal.aborted, false)
  one.abort('left')
  t.equal(await first.catch((reason: unknown) => reason), 'left')
  t.equal(flight.signal.aborted, false)
  flight.end('cached')
  t.equal(await second, 'cached')
})

t.test('a flight is aborted when all have left', async t => {
  const alone = new Flight()
  alone.leave('reason')
  t.equal(alone.signal.reason, 'reason')
  const flight = new Flight()
  const signal = new CallCancellation()
  const wait = flight.wait(signal)
  flight.leave('reason')
  signal.abort('left')
  await wait.catch(() => undefined) // rejects with `left`
  t.equal(flight.signal.reason, 'reason')
})

t.test('only the first end of a flight counts', async t => {
  const flight = new Flight()
  flight.end('uncached')
  flight.end('cached')
  t.equal(await flight.ended, 'uncached')
})
