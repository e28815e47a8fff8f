import { fork, type ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { setImmediate as immediate } from 'node:timers/promises'
import { join } from 'node:path'
import t from 'tap'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { answerLimitMessages, WorkerLimiter } from '../../lib/limits/worker-limiter.ts'
import { until } from '../support/until.ts'
import type { IpcChannel, WorkerChannel } from '../../lib/async/ipc.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import {
  decisionOf,
  KeyLimiter,
  KeyLocalLimiter,
  requestOf,
  type KeyCall,
  type KeyDecision
} from '../support/limits.ts'
import type { LimitDecision } from '../../lib/limits/reservation.ts'
import type { Test } from 'tap'

interface Worker {
  readonly child: ChildProcess
  readonly ask: (count: number, wanted: KeyCall) => Promise<KeyDecision[]>
}

/** A separate process that asks this one. */
function worker (t: Test, limiter: KeyLocalLimiter, name: string): Worker {
  const child = fork(join(import.meta.dirname, '../support/limited-worker.js'), { execArgv: [] })
  t.teardown(() => child.kill('SIGKILL'))
  answerLimitMessages(child, limiter.limiter, name)
  return {
    child,
    ask: async (count, wanted) => {
      child.send({ count, wanted: requestOf(wanted) })
      return await new Promise(resolve => {
        const hear = (message: { verdicts?: LimitDecision[] }): void => {
          if (message.verdicts === undefined) return
          child.off('message', hear)
          resolve(message.verdicts.map(decisionOf))
        }
        child.on('message', hear)
      })
    }
  }
}

/**
 * A worker that is connected to a limiter within this process, with all messages between them as they would
 * arrive.
 */
function connected (limiter: KeyLocalLimiter): {
  readonly worker: KeyLimiter<WorkerLimiter>
  readonly sent: unknown[]
} {
  const sent: unknown[] = []
  const listeners: Record<'worker' | 'primary', Array<(message: unknown) => void>> = {
    worker: [],
    primary: []
  }
  const end = (
    own: 'worker' | 'primary',
    other: 'worker' | 'primary'
  ): IpcChannel<unknown> & WorkerChannel<unknown> => ({
    on: (event: string, listener: (message?: unknown) => void) => {
      if (event === 'message') listeners[own].push(listener)
    },
    send: message => {
      const copy = JSON.parse(JSON.stringify(message)) as unknown
      sent.push(copy)
      setImmediate(() => { for (const listener of listeners[other]) listener(copy) })
    }
  })
  const worker = new WorkerLimiter(end('worker', 'primary'))
  answerLimitMessages(end('primary', 'worker'), limiter.limiter, 'worker')
  return { worker: new KeyLimiter(worker), sent }
}

/** What a worker sends to reserve for one call. */
function messageOf (call: KeyCall): object {
  const { accounts, ...wanted } = requestOf(call)
  const reserve = [{ request: 1, reservation: { ...wanted, accounts: 0 } }]
  return { limits: 'count', lists: [accounts], reserve, settle: [], record: [] }
}

function reservationOf (decision: KeyDecision): number {
  return decision.admitted ? decision.reservation : NaN
}

t.test('processes share one limiter, and one that exits releases its reservations', async t => {
  const limiter = new KeyLocalLimiter(
    new LocalLimiter({ readUsed: async () => await Promise.resolve(7), now: () => 0 })
  )
  const [one, two] = [worker(t, limiter, 'one'), worker(t, limiter, 'two')]
  const limits: PartyLimits = { concurrentCalls: 20, budget: { usd: 1e-7, per: 'day' }, strict: false }
  const wanted: KeyCall = { keyId: 'a', limits, tokens: 0, nanoUsd: 10 }
  const admitted = (verdicts: readonly KeyDecision[]): number =>
    verdicts.filter(({ admitted }) => admitted).length
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

t.test('a killed worker keeps its budget reservation until its usage records are stored', async t => {
  let isUnrecorded = true
  const limiter = new KeyLocalLimiter(
    new LocalLimiter({
      readUsed: async () => 0,
      now: () => 0,
      rereadMs: 1,
      hasUnrecorded: () => isUnrecorded
    })
  )
  const [one, two] = [worker(t, limiter, 'one'), worker(t, limiter, 'two')]
  const wanted: KeyCall = {
    keyId: 'a',
    limits: { concurrentCalls: 3, budget: { usd: 1e-7, per: 'day' } },
    tokens: 0,
    nanoUsd: 30
  }
  await one.ask(3, wanted)
  one.child.kill('SIGKILL')
  await until(() => limiter.counters.open === 0, 'no call to be counted as open')
  t.match(await two.ask(1, wanted), [{ reason: 'budget_reserved' }])
  isUnrecorded = false
  await until(async () => (await two.ask(1, wanted))[0]?.admitted === true, 'its part to be released')
})

t.test(
  "a worker that imports another's journal settles it at the primary, and waits for that",
  async t => {
    const limiter = new KeyLocalLimiter(
      new LocalLimiter({ readUsed: async () => 0, now: () => 0, hasUnrecorded: () => true })
    )
    const { worker } = connected(limiter)
    const wanted = requestOf({
      keyId: 'a',
      limits: { budget: { usd: 1e-7, per: 'day' } },
      tokens: 0,
      nanoUsd: 30
    })
    await limiter.limiter.reserve({ ...wanted, rowId: 'row-1' }, 'killed')
    limiter.release('killed')
    await worker.limiter.settleRecorded([
      { accounts: wanted.accounts, row: { id: 'row-1', atMs: 0 }, used: { nanoUsd: 10 } }
    ])
    t.same([...limiter.counters.holdings()], [])
    t.match(await worker.limiter.reserve({ ...wanted, wanted: { nanoUsd: { max: 91 } } }), {
      admitted: false,
      reason: 'budget_too_small'
    })
    t.match(await worker.limiter.reserve({ ...wanted, wanted: { nanoUsd: { max: 90 } } }), {
      admitted: true
    })
  }
)

t.test(
  'settled usage of a worker counts before its records are stored, even while it waits for decisions',
  async t => {
    const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
    const { worker } = connected(limiter)
    const wanted: KeyCall = {
      keyId: 'a',
      limits: { budget: { usd: 1e-7, per: 'day' } },
      tokens: 0,
      nanoUsd: 30
    }
    const first = await worker.reserve(wanted)
    const second = worker.reserve(wanted)
    worker.settle(reservationOf(first), { tokens: 0, nanoUsd: 10 })
    await worker.limiter.settleRecorded([])
    t.match([...limiter.counters.holdings()], [{ amount: 30 }], 'the second call alone')
    t.equal((await second).admitted, true)
  }
)

t.test(
  'a reservation for a worker that has exited meanwhile is released, with its budget share',
  async t => {
    let finish: (spent: number) => void = () => {}
    const reading = new Promise<number>(resolve => {
      finish = resolve
    })
    const limiter = new KeyLocalLimiter(
      new LocalLimiter({ readUsed: async () => await reading, now: () => 0, hasUnrecorded: () => true })
    )
    const settled = t.capture(limiter.limiter, 'settle', limiter.limiter.settle.bind(limiter.limiter))
    const listeners = new Map<string, (message?: unknown) => void>()
    const ipc = {
      connected: true,
      isDead: () => true,
      on: (event: string, listener: () => void) => listeners.set(event, listener),
      send: () => true
    }
    answerLimitMessages(ipc, limiter.limiter, 'worker')
    const limits: PartyLimits = { requestsPerMinute: 10, budget: { usd: 1, per: 'day' } }
    listeners.get('message')?.(messageOf({ keyId: 'a', limits, tokens: 0, nanoUsd: 30 }))
    ipc.connected = false
    listeners.get('exit')?.()
    finish(7)
    await until(() => settled().length > 0, 'the reservation to be settled')
    t.equal(limiter.counters.open, 0)
    t.same(limiter.counters.holdings(), [])
    t.match(
      limiter.counters.reserve({ keyId: 'a', limits, tokens: 0, nanoUsd: 0 }),
      { rateLimits: { requests: { remaining: 9 } } },
      'nor was it a request'
    )
  }
)

t.test(
  'a worker that exits before its IPC channel closes releases everything, and late messages reserve nothing',
  async t => {
    const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
    const worker = new EventEmitter()
    answerLimitMessages(worker, limiter.limiter, 'worker')
    const ask = messageOf({ keyId: 'a', limits: { concurrentCalls: 1 }, tokens: 0, nanoUsd: 0 })
    worker.emit('message', ask)
    t.equal(limiter.counters.open, 1)
    worker.emit('exit')
    t.equal(limiter.counters.open, 0)
    worker.emit('message', ask)
    t.equal(limiter.counters.open, 0)
  }
)

t.test('a limit applies across all processes, and each call learns what is left', async t => {
  const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
  const workers = [worker(t, limiter, 'one'), worker(t, limiter, 'two')]
  const wanted: KeyCall = {
    keyId: 'a',
    limits: { requestsPerMinute: 40, tokensPerMinute: 1000 },
    tokens: 10,
    nanoUsd: 0
  }
  const decisions = (await Promise.all(workers.map(async ({ ask }) => await ask(30, wanted)))).flat()
  const left = decisions.flatMap(({ admitted, rateLimits }) =>
    admitted ? [rateLimits.requests?.remaining ?? NaN] : []
  )
  t.same(
    left.toSorted((a, b) => a - b),
    Array.from({ length: 40 }, (_, number) => number)
  )
  const refused = decisions.filter(({ admitted }) => !admitted)
  t.equal(refused.length, 20)
  for (const decision of refused) {
    t.match(decision, {
      reason: 'requests',
      waitMs: 1500,
      rateLimits: {
        requests: { remaining: 0, resetMs: 60_000 },
        tokens: { remaining: 600, resetMs: 24_000 }
      }
    })
  }
})

t.test(
  'reservations and settlements of one turn are one message each way, settlements first',
  async t => {
    const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
    const { worker, sent } = connected(limiter)
    const limits: PartyLimits = { requestsPerMinute: 10, concurrentCalls: 2 }
    const other: PartyLimits = { tokensPerMinute: 100 }
    const one = { keyId: 'a', limits, tokens: 0, nanoUsd: 0 }
    const first = await Promise.all([
      worker.reserve(one),
      worker.reserve({ ...one, keyId: 'b', limits: other, tokens: 60 }),
      worker.reserve(one)
    ])
    t.match(first, [
      { admitted: true, rateLimits: { requests: { remaining: 9 } } },
      { rateLimits: { tokens: { limit: 100, remaining: 40 } } },
      { rateLimits: { requests: { remaining: 8 } } }
    ])
    t.equal(first[0]?.rateLimits.tokens, undefined)
    t.match(sent, [
      { limits: 'count', reserve: { length: 3 } },
      { limits: 'decisions', decisions: { length: 3 } }
    ])

    const next = Promise.all([worker.reserve(one), worker.reserve(one)])
    for (const decision of first) {
      worker.settle(reservationOf(decision), { tokens: 5, nanoUsd: 0, row: { id: 'row', atMs: 1 } })
    }
    t.match(await next, [{ admitted: true, rateLimits: { requests: { remaining: 7 } } }, { admitted: true }])
    t.match(sent.slice(2), [{ reserve: { length: 2 }, settle: { length: 3 } }, { decisions: { length: 2 } }])
    worker.settle(reservationOf(await worker.reserve({ ...one, keyId: 'b', limits: other, tokens: 95 })), {
      tokens: 100,
      nanoUsd: 0
    })
    await until(() => sent.length === 7, 'a message of a settlement alone')
    t.match(await worker.reserve({ ...one, keyId: 'b', limits: other, tokens: 1 }), {
      admitted: false,
      reason: 'tokens',
      waitMs: 3600
    })
    t.equal(limiter.counters.open, 2)
  }
)

t.test('a worker learns when the window of a used-up budget ends, and that all time has no end', async t => {
  const limiter = new KeyLocalLimiter(new LocalLimiter({ readUsed: async () => 2000, now: () => 0 }))
  const { worker } = connected(limiter)
  const ask = async (per: 'day' | 'total'): Promise<KeyDecision> => {
    const limits = { budget: { usd: 1e-6, per } }
    return await worker.reserve({ keyId: per, limits, tokens: 0, nanoUsd: 1 })
  }
  t.match(await ask('day'), { reason: 'budget', endMs: 86_400_000 })
  const refused = await ask('total')
  t.match(refused, { admitted: false, reason: 'budget' })
  t.notOk('endMs' in refused)
})

t.test('requests made while a worker waits for decisions are sent next, as one message', async t => {
  const sent: unknown[] = []
  let answer: (message: unknown) => void = () => {}
  const worker = new KeyLimiter(new WorkerLimiter({
    on: (event, listener) => { if (event === 'message') answer = listener },
    send: message => { sent.push(message) }
  }))
  const wanted: KeyCall = { keyId: 'a', limits: { requestsPerMinute: 10 }, tokens: 0, nanoUsd: 0 }
  const first = worker.reserve(wanted)
  await until(() => sent.length === 1, 'the first message')
  worker.settle(7, { tokens: 0, nanoUsd: 0 })
  const second = worker.reserve(wanted)
  await immediate()
  await immediate()
  t.equal(sent.length, 1)
  const decision: LimitDecision = {
    admitted: true,
    reservation: 8,
    granted: { nanoUsd: 0 },
    used: [],
    rateLimits: { requests: { limit: 10, remaining: 9, resetMs: 6000 } }
  }
  answer({ limits: 'decisions', decisions: [{ request: 1, decision }], isLate: false })
  t.same(await first, { ...decision, nanoUsd: 0 })
  await until(() => sent.length === 2, 'the second message')
  t.match(sent[1], { reserve: { length: 1 }, settle: { length: 1 } })
  answer({
    limits: 'decisions',
    decisions: [
      {
        request: 2,
        decision: { admitted: false, accountIndex: 0, reason: 'requests', waitMs: 6000, rateLimits: {} }
      }
    ],
    isLate: false
  })
  t.match(await second, { admitted: false, reason: 'requests', waitMs: 6000 })
  await immediate()
  await immediate()
  t.equal(sent.length, 2, 'there is no more to send')
})

t.test('a message has the accounts of a key once, however many calls it is about', async t => {
  const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
  const { worker, sent } = connected(limiter)
  const limits: PartyLimits = { requestsPerMinute: 10, budget: { usd: 1, per: 'day' } }
  const one: KeyCall = { keyId: 'a', limits, tokens: 0, nanoUsd: 1 }
  const other = { ...one, keyId: 'b' }
  const { accounts } = requestOf(one)
  // The worker creates errors and warnings, and needs the budgets for them.
  const listOf = (call: KeyCall): unknown => JSON.parse(JSON.stringify(
    requestOf(call).accounts.map(account => ({ ...account, budget: undefined }))
  ))
  const usages = ['row-1', 'row-2'].map(id => ({ accounts, row: { id, atMs: 0 }, used: {} }))
  const recorded = worker.limiter.settleRecorded(usages)
  await Promise.all([worker.reserve(one), worker.reserve(other), worker.reserve(one), recorded])
  t.has(sent[0], { lists: [listOf(one), listOf(other)] })
  t.notMatch(JSON.stringify(sent[0]), '"budget":')
  t.match(sent[0], {
    reserve: [0, 1, 0].map(index => ({ reservation: { accounts: index } })),
    record: [{ usages: [{ accounts: 0 }, { accounts: 0 }] }]
  })
  t.match(sent[0], { lists: { length: 2 } })
  await worker.reserve(other)
  t.match(
    sent.at(-2),
    { lists: { length: 1 }, reserve: [{ reservation: { accounts: 0 } }] },
    'each message has its own'
  )
  t.same(
    [...limiter.counters.holdings()].map(({ party, amount }) => [party, amount]),
    [
      ['a', 2],
      ['b', 2]
    ]
  )
})

t.test('different limits of one key during a reload are kept apart', async t => {
  const { worker, sent } = connected(new KeyLocalLimiter(new LocalLimiter({ now: () => 0 })))
  const reserve = async (requestsPerMinute: number): Promise<KeyDecision> => (
    await worker.reserve({ keyId: 'a', limits: { requestsPerMinute }, tokens: 0, nanoUsd: 0 })
  )
  const decisions = await Promise.all([reserve(10), reserve(20), reserve(10)])
  t.match(sent[0], { lists: { length: 2 } })
  t.same(decisions.map(({ rateLimits }) => rateLimits.requests?.limit), [10, 20, 10])
  t.same(decisions.map(({ rateLimits }) => rateLimits.requests?.remaining), [9, 18, 7])
})

t.test('a key whose spending is being read delays no other', async t => {
  let finish: (spent: number) => void = () => {}
  const reading = new Promise<number>(resolve => {
    finish = resolve
  })
  const { worker } = connected(
    new KeyLocalLimiter(new LocalLimiter({ readUsed: async () => await reading, now: () => 0 }))
  )
  const budget: PartyLimits = { budget: { usd: 1, per: 'day' } }
  let isRead = false
  const slow = Promise.resolve(
    worker.reserve({ keyId: 'a', limits: budget, tokens: 0, nanoUsd: 3, minNanoUsd: 1 })
  ).finally(() => {
    isRead = true
  })
  t.match(await worker.reserve({ keyId: 'b', limits: { concurrentCalls: 1 }, tokens: 0, nanoUsd: 0 }), {
    admitted: true
  })
  t.match(await worker.reserve({ keyId: 'b', limits: { concurrentCalls: 1 }, tokens: 0, nanoUsd: 0 }), {
    admitted: false,
    reason: 'concurrent_calls'
  })
  t.notOk(isRead)
  finish(1e9 - 2)
  t.match(await slow, { admitted: true, nanoUsd: 2 }, 'what is left')
})

t.test('a worker whose primary is gone refuses calls, including waiting ones', async t => {
  const listeners = new Map<string, () => void>()
  const primary = {
    connected: true,
    on: (event: string, listener: () => void) => listeners.set(event, listener),
    send: () => true
  }
  const limiter = new KeyLimiter(new WorkerLimiter(primary))
  const wanted: KeyCall = { keyId: 'a', limits: {}, tokens: 0, nanoUsd: 0 }
  const waiting = limiter.reserve(wanted)
  listeners.get('disconnect')?.()
  await t.rejects(Promise.resolve(waiting), { code: 'shutting_down' })
  primary.connected = false
  await t.rejects(Promise.resolve(limiter.reserve(wanted)), { code: 'shutting_down' })
})

t.test('a call that the primary ignores for too long is refused, and its late reservation released', async t => {
  const sent: Array<{ readonly settle?: unknown[] }> = []
  const listeners = new Map<string, (message?: unknown) => void>()
  const primary = {
    connected: true,
    on: (event: string, listener: (message?: unknown) => void) => listeners.set(event, listener),
    send: (message: object) => sent.push(message) > 0
  }
  const limiter = new KeyLimiter(new WorkerLimiter(primary, 1))
  const wanted: KeyCall = { keyId: 'a', limits: {}, tokens: 0, nanoUsd: 0 }
  await t.rejects(Promise.resolve(limiter.reserve(wanted)), { code: 'overloaded' })
  const decision = { admitted: true, reservation: 7, granted: {}, rateLimits: {} }
  listeners.get('message')?.({ limits: 'decisions', decisions: [{ request: 1, decision }], isLate: false })
  const settled = (): unknown[] => sent.flatMap(({ settle = [] }) => settle)
  await until(() => settled().length > 0, 'the settlement')
  t.match(settled(), [{ reservation: 7 }])
})

t.test('a call that arrives before the settlement that makes room for it waits for that', async t => {
  const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
  const [one, two] = [connected(limiter).worker, connected(limiter).worker]
  const wanted: KeyCall = { keyId: 'a', limits: { concurrentCalls: 1, strict: false }, tokens: 0, nanoUsd: 0 }
  const first = reservationOf(await one.reserve(wanted))
  const second = two.reserve(wanted)
  for (let turn = 0; turn < 3; turn++) await immediate() // the primary has it
  one.settle(first, { tokens: 0, nanoUsd: 0 })
  t.equal((await second).admitted, true)
  t.match(
    await one.reserve(wanted),
    { admitted: false, reason: 'concurrent_calls' },
    'a key without a place is refused'
  )
})

t.test('in any order of worker calls a limit is never exceeded and can be used completely', async t => {
  const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
  const workers = [connected(limiter).worker, connected(limiter).worker, connected(limiter).worker]
  const wanted: KeyCall = { keyId: 'a', limits: { requestsPerMinute: 500 }, tokens: 0, nanoUsd: 0 }
  let admitted = 0
  for (let round = 0; round < 12; round++) {
    const decisions = await Promise.all(
      workers.flatMap((worker, number) =>
        Array.from({ length: (round * 7 + number * 5) % 23 }, async () => ({
          worker,
          decision: await worker.reserve(wanted)
        }))
      )
    )
    for (const { worker, decision } of decisions) {
      t.ok(decision.admitted)
      admitted++
      worker.settle(reservationOf(decision), { tokens: 0, nanoUsd: 0 })
    }
  }
  await until(() => limiter.counters.open === 0, 'all to be settled')
  let left = 0
  const last = workers[0]
  if (last === undefined) return t.fail('there are workers')
  while ((await last.reserve(wanted)).admitted) left++
  t.equal(admitted + left, 500)
})

t.test('a worker that stops sends the usage of its calls, even while it waits for decisions', async t => {
  const limiter = new KeyLocalLimiter(new LocalLimiter({ now: () => 0 }))
  const { worker } = connected(limiter)
  const wanted: KeyCall = {
    keyId: 'a',
    limits: { requestsPerMinute: 1000, tokensPerMinute: 1000 },
    tokens: 1,
    nanoUsd: 0
  }
  const first = await Promise.all(Array.from({ length: 10 }, async () => await worker.reserve(wanted)))
  const last = worker.reserve(wanted)
  await immediate()
  for (const decision of first) worker.settle(reservationOf(decision), { tokens: 2, nanoUsd: 0 })
  worker.limiter.flush()
  await last
  await immediate()
  t.equal(limiter.counters.open, 1)
  t.match(limiter.reserve(wanted), {
    rateLimits: { requests: { remaining: 988 }, tokens: { remaining: 1000 - 20 - 2 } }
  })
})
