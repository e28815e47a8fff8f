import t from 'tap'
import { ServedSessions } from '../../lib/routing/served-sessions.ts'

t.test('the models of a session are remembered, each with its last answer', async t => {
  const served = new ServedSessions()
  t.equal(served.servedAtMs('s', 'a/m'), undefined)
  served.note('s', 'a/m')
  served.note('s', 'b/m')
  const [first = 0, second = 0] = ['a/m', 'b/m'].map(id => served.servedAtMs('s', id))
  t.ok(first > 0 && first <= second && second <= performance.now())
  t.equal(served.servedAtMs('other', 'a/m'), undefined)
})

t.test('ten minutes after its last answer a model has no preference for the session', async t => {
  const now = performance.now.bind(performance)
  let laterMs = 0
  t.intercept(performance, 'now', { value: () => now() + laterMs })
  const served = new ServedSessions()
  served.note('s', 'a/m')
  laterMs = 9 * 60_000
  t.type(served.servedAtMs('s', 'a/m'), 'number')
  served.note('s', 'a/m')
  laterMs += 9 * 60_000
  t.type(served.servedAtMs('s', 'a/m'), 'number', 'each answer counts anew')
  laterMs += 60_000
  t.equal(served.servedAtMs('s', 'a/m'), undefined)
})
