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

t.test(
  'each wait ends after its time and in order, unless it was stopped or restarted',
  async t => {
    const timer = new SharedTimer(20)
    const due: string[] = []
    const startedAtMs = performance.now()
    const [first, second, stopped, anew] = ['first', 'second', 'stopped', 'anew'].map(
      name => new Wait(() => due.push(name))
    )
    for (const wait of [anew, first, stopped, second]) if (wait !== undefined) timer.start(wait)
    if (stopped !== undefined) timer.stop(stopped)
    if (anew !== undefined) timer.start(anew)
    await until(() => due.length === 3, 'three waits')
    t.same(due, ['first', 'second', 'anew'])
    t.ok(performance.now() - startedAtMs >= 19)
  }
)

t.test('a callback may start another wait, or its own again', async t => {
  const timer = new SharedTimer(5)
  let count = 0
  const wait = new Wait(() => { if (++count < 3) timer.start(wait) })
  timer.start(wait)
  await until(() => count === 3, 'the third time')
  t.equal(count, 3)
})

/** Intercepts `setTimeout` and returns the recorded calls with their delays. */
function laterCalls (t: Test): Array<{ readonly call: () => void, readonly ms: number }> {
  const later: Array<{ readonly call: () => void, readonly ms: number }> = []
  const timer = { unref: () => timer }
  t.intercept(globalThis, 'setTimeout', { value: (call: () => void, ms: number) => {
    later.push({ call, ms })
    return timer
  } })
  return later
}

t.test('thousands of waits due at once are spread over several ticks of the event loop', async t => {
  const later = laterCalls(t)
  let nowMs = 5
  t.intercept(performance, 'now', { value: () => nowMs })
  for (const beginsAnew of [false, true]) {
    const timer = new SharedTimer(1000)
    let count = 0
    for (let started = 0; started < 500; started++) {
      const wait = new Wait(() => {
        count++
        if (beginsAnew) timer.start(wait)
      })
      timer.start(wait)
    }
    nowMs += 1001
    const rounds: Array<[count: number, nextMs: number | undefined]> = []
    for (let round = 0; round < 3; round++) {
      later.shift()?.call()
      rounds.push([count, later[0]?.ms])
      t.ok(later.length < 2, 'only one timer')
    }
    t.same(
      rounds,
      [
        [200, 0],
        [400, 0],
        [500, beginsAnew ? 1000 : undefined]
      ],
      beginsAnew ? 'that begin anew' : 'that end'
    )
    later.length = 0
  }
})

t.test('a callback that throws does not stop the others', async t => {
  const later = laterCalls(t)
  const timer = new SharedTimer(0)
  const due: string[] = []
  timer.start(new Wait(() => { throw new Error('broken') }))
  timer.start(new Wait(() => due.push('other')))
  t.throws(() => later.shift()?.call(), { message: 'broken' })
  later.shift()?.call()
  t.same(due, ['other'])
})

t.test('waits of the same length share a timer', async t => {
  t.equal(sharedTimer(7), sharedTimer(7))
  t.not(sharedTimer(7), sharedTimer(8))
})
