import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { answerLimitMessages, workerLimiter } from '../../lib/limits/shared-limiter.ts'
import { until } from '../support/until.ts'
import type { KeyLimits } from '../../lib/core/key.ts'
import type { LimitDecision, ReservationRequest } from '../../lib/limits/counters.ts'
import type { Test } from 'tap'

interface Worker {
  readonly child: ChildProcess
  readonly ask: (count: number, wanted: ReservationRequest) => Promise<LimitDecision[]>
}

/** A process of its own that asks this one. */
function worker (t: Test, limiter: LocalLimiter, name: string): Worker {
  const child = fork(join(import.meta.dirname, '../support/limited-worker.js'), { execArgv: [] })
  t.teardown(() => child.kill('SIGKILL'))
  answerLimitMessages(child, limiter, name)
  return {
    child,
    ask: async (count, wanted) => {
      child.send({ count, wanted })
      return await new Promise(resolve => {
        const hear = (message: { verdicts?: LimitDecision[] }): void => {
          if (message.verdicts === undefined) return
          child.off('message', hear)
          resolve(message.verdicts)
        }
        child.on('message', hear)
      })
    }
  }
}

t.test('processes share one limiter, and one that exits releases its reservations', async t => {
  const limiter = new LocalLimiter({ readSpending: async () => await Promise.resolve(7), now: () => 0 })
  const [one, two] = [worker(t, limiter, 'one'), worker(t, limiter, 'two')]
  const limits: KeyLimits = { concurrentCalls: 20, budget: { usd: 1e-7, per: 'day' }, strict: false }
  const wanted: ReservationRequest = { keyId: 'a', limits, tokens: 0, nanoUsd: 10 }
  const admitted = (verdicts: readonly LimitDecision[]): number => verdicts.filter(({ admitted }) => admitted).length
  t.equal(admitted(await one.ask(5, wanted)), 5)
  const [first, ...others] = await two.ask(30, wanted)
  t.equal(admitted(others) + 1, 4, '7 of 100 were spent before')

  two.child.send({ settle: first?.admitted === true ? first.reservation : 0 })
  await until(() => limiter.counters.open === 8, 'eight calls to be counted as open')
  one.child.kill('SIGKILL')
  await until(() => limiter.counters.open === 3, 'three calls to be counted as open')
  t.equal(admitted(await two.ask(30, wanted)), 6, 'the one that was settled had cost 1')
  two.child.disconnect()
  await until(() => limiter.counters.open === 0, 'no call to be counted as open')
})

t.test('a worker whose primary is gone refuses, what waits as well', async t => {
  const listeners = new Map<string, () => void>()
  const primary = { connected: true, on: (event: string, listener: () => void) => listeners.set(event, listener), send: () => true }
  const limiter = workerLimiter(primary)
  const wanted: ReservationRequest = { keyId: 'a', limits: {}, tokens: 0, nanoUsd: 0 }
  const waiting = limiter.reserve(wanted)
  listeners.get('disconnect')?.()
  await t.rejects(Promise.resolve(waiting), { code: 'shutting_down' })
  primary.connected = false
  await t.rejects(Promise.resolve(limiter.reserve(wanted)), { code: 'shutting_down' })
})
