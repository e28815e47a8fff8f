import t from 'tap'
import { SharedTimer, TimedMember, sharedTimer } from '../../lib/async/shared-timer.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'

class Wait extends TimedMember {
  readonly #onDue: () => void

  constructor (onDue: () => void) {
    super()
    this.#onDue = onDue
  }

  onDue (): void {
    this.#onDue()
  }
}

t.test('each wait ends after its time, those begun first before others, unless it was stopped or begun anew', async t => {
  const timer = new SharedTimer(20)
  const due: string[] = []
  const startedAtMs = performance.now()
  const [first, second, stopped, anew] = ['first', 'second', 'stopped', 'anew'].map(name => new Wait(() => due.push(name)))
  for (const wait of [anew, first, stopped, second]) if (wait !== undefined) timer.start(wait)
  if (stopped !== undefined) timer.stop(stopped)
  if (anew !== undefined) timer.start(anew)
  await until(() => due.length === 3, 'three waits')
  t.same(due, ['first', 'second', 'anew'])
  t.ok(performance.now() - startedAtMs >= 19)
})

t.test('a wait may begin another when it ends, also its own', async t => {
  const timer = new SharedTimer(5)
  let count = 0
  const wait = new Wait(() => { if (++count < 3) timer.start(wait) })
  timer.start(wait)
  await until(() => count === 3, 'the third time')
  t.equal(count, 3)
})

/** Takes the functions that are to be called later. */
function laterCalls (t: Test): Array<() => void> {
  const later: Array<() => void> = []
  const timer = { unref: () => timer }
  t.intercept(globalThis, 'setTimeout', { value: (call: () => void) => {
    later.push(call)
    return timer
  } })
  return later
}

t.test('thousands that are due at once are called in several turns of the event loop', async t => {
  const later = laterCalls(t)
  const timer = new SharedTimer(0)
  const counts: number[] = []
  let count = 0
  for (let started = 0; started < 500; started++) timer.start(new Wait(() => { count++ }))
  for (let call = later.shift(); call !== undefined; call = later.shift()) {
    call()
    counts.push(count)
  }
  t.same(counts, [200, 400, 500])
})

t.test('one that throws does not stop the others', async t => {
  const later = laterCalls(t)
  const timer = new SharedTimer(0)
  const due: string[] = []
  timer.start(new Wait(() => { throw new Error('broken') }))
  timer.start(new Wait(() => due.push('other')))
  t.throws(() => later.shift()?.(), { message: 'broken' })
  later.shift()?.()
  t.same(due, ['other'])
})

t.test('waits of one length have one timer', async t => {
  t.equal(sharedTimer(7), sharedTimer(7))
  t.not(sharedTimer(7), sharedTimer(8))
})
