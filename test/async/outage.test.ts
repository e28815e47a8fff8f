import t from 'tap'
import { Outage } from '../../lib/async/outage.ts'

t.test('only the first failure and the next success are reported', async t => {
  const reported: unknown[] = []
  const outage = new Outage({ onBegin: error => reported.push(error), onEnd: () => reported.push('works') })
  outage.succeeded()
  for (const error of ['first', 'second']) outage.failed(error)
  t.ok(outage.isOngoing)
  for (let count = 0; count < 2; count++) outage.succeeded()
  t.notOk(outage.isOngoing)
  outage.failed('again')
  t.strictSame(reported, ['first', 'works', 'again'])
})

t.test('successes between failures do not end an outage', async t => {
  let nowMs = 0
  const reported: unknown[] = []
  const outage = new Outage({
    onBegin: error => reported.push(error),
    onEnd: () => reported.push('works'),
    quietMs: 100,
    now: () => nowMs
  })
  for (let count = 0; count < 10; count++) {
    outage.failed(count)
    nowMs += 99
    outage.succeeded()
  }
  t.strictSame(reported, [0])
  nowMs += 1
  outage.succeeded()
  t.strictSame(reported, [0, 'works'])
})
