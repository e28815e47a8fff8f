import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { limitAccountsOf, type Party, type SumAccount } from '../../lib/limits/call-accounts.ts'
import {
  requestedOfSum,
  recordedUsages,
  type RequestedAmounts,
  type ReservationRequest
} from '../../lib/limits/reservation.ts'
import { periodAt } from '../../lib/limits/windows.ts'
import { SteadyClock } from '../../lib/async/steady-clock.ts'
import {
  createLimiter, LocalLimiter, readUsedFrom, type LocalLimiterOptions
} from '../../lib/limits/limiter.ts'
import { createLog } from '../../lib/log/log.ts'
import { importJournals } from '../../lib/usage/import-journals.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { SqliteDatabase } from '../../lib/stores/database.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { usageRowOf } from '../support/usage.ts'
import { KeyLocalLimiter, randomFrom, reasonOf, requestOf, type KeyCall } from '../support/limits.ts'
import { storeTest } from '../support/stores.ts'
import { outlast, until } from '../support/until.ts'

const day = 24 * 60 * 60 * 1000
// 1,000 billionths
const call: KeyCall = {
  keyId: 'key-1',
  limits: { budget: { usd: 1e-6, per: 'day' } },
  tokens: 0,
  nanoUsd: 100
}

/** A gateway's limiter on a store; calls cost what they reserved. */
function gatewayOn (
  database: SqliteDatabase,
  options: LocalLimiterOptions = {},
  now: () => number = Date.now
) {
  let number = 0
  const prefix = Math.random().toString(36)
  const limiter = new KeyLocalLimiter(
    new LocalLimiter({
      readUsed: readUsedFrom(database),
      rereadMs: 0,
      now,
      ...options
    })
  )
  return {
    limiter,
    /** @returns whether it was admitted */
    call: async (): Promise<boolean> => {
      const decision = await limiter.reserve(call)
      if (!decision.admitted) return false
      insertUsage(database, [
        usageRowOf(0, { id: `${prefix}-${number++}`, at_ms: now(), cost_nano_usd: call.nanoUsd })
      ])
      limiter.settle(decision.reservation, { tokens: 0, nanoUsd: call.nanoUsd })
      return true
    }
  }
}

t.test('two gateways on one store share one budget', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const [blue, green] = [gatewayOn(database), gatewayOn(database)]
  let admitted = 0
  for (let round = 0; round < 10; round++) {
    for (const gateway of [blue, green]) if (await gateway.call()) admitted++
  }
  t.equal(admitted, 10)
})

t.test('a reservation is made once, even if the store was locked when it was written', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  database.write(prepare => prepare('insert into gateways values (?, ?)').run('elsewhere', Date.now()))
  let failures = 0
  const local = new LocalLimiter({
    beatMs: 10,
    // a beat may meet the lock as well
    onFailure: error => t.match(String(error), 'database is locked'),
    shared: {
      query: database.query,
      write: run => database.write(prepare => {
        const result = run(prepare)
        if (failures-- > 0) throw new Error('database is locked')
        return result
      })
    }
  })
  t.teardown(() => local.close())
  const limiter = new KeyLocalLimiter(local)
  const first = await limiter.reserve({ ...call, nanoUsd: 600 })
  t.equal(first.admitted, true)
  if (first.admitted) limiter.settle(first.reservation, { tokens: 0, nanoUsd: 0 })
  failures = 2
  t.equal((await limiter.reserve({ ...call, nanoUsd: 300 })).admitted, true)
  t.ok(failures <= 0, 'the store has refused it')
  t.equal(local.counters.open, 1)
  t.match([...local.counters.sums.holdings()], [{ party: 'key-1', amount: 300 }])
})

t.test('a heartbeat does not end an outage in which spending cannot be read', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const reported: string[] = []
  const local = new LocalLimiter({
    shared: database,
    readUsed: async () => { throw new Error('cannot be read') },
    onFailure: error => reported.push(String(error)),
    onSuccess: () => reported.push('works')
  })
  t.teardown(() => local.close())
  await new KeyLocalLimiter(local).reserve(call)
  t.equal((await database.query.selectFrom('gateways').select('id').execute()).length, 1, 'a heartbeat')
  t.strictSame(reported, ['Error: cannot be read'])
})

t.test('while a shared store fails, an end user of unknown spending is treated as configured', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  database.write(prepare => prepare('insert into gateways values (?, ?)').run('elsewhere', Date.now()))
  let isDown = false
  const reported: string[] = []
  const local = new LocalLimiter({
    beatMs: 10,
    rereadMs: 0,
    readUsed: async () => { throw new Error('gone') },
    onFailure: error => reported.push(String(error)),
    onSuccess: () => reported.push('works'),
    shared: {
      query: database.query,
      write: run => {
        if (isDown) throw new Error('gone')
        return database.write(run)
      }
    }
  })
  t.teardown(() => local.close())
  const wanted = requestOf({ ...call, keyId: 'p/x' }, 'end_user')
  t.match(await local.reserve({ ...wanted, withoutStore: 'refuse' }), { admitted: true, isUnread: undefined })
  isDown = true
  t.match(await local.reserve({ ...wanted, withoutStore: 'refuse' }), {
    admitted: false, reason: 'budget_unread'
  })
  t.match(await local.reserve({ ...wanted, withoutStore: 'allow' }), { admitted: true, isUnread: true })
  isDown = false
  t.match(await local.reserve({ ...wanted, withoutStore: 'refuse' }), { admitted: true, isUnread: undefined })
  t.equal(reported[0], 'works')
  t.equal(reported.at(-1), 'works', 'the end of the outage is reported')
})

t.test('usage that is counted but not yet recorded survives a ledger read', async t => {
  let booked = 0
  const limiter = new KeyLocalLimiter(new LocalLimiter({ readUsed: async () => booked, rereadMs: 0 }))
  for (const admitted of [true, true, true]) {
    const decision = await limiter.reserve({ ...call, nanoUsd: 300 })
    t.equal(decision.admitted, admitted)
    if (decision.admitted) limiter.settle(decision.reservation, { tokens: 0, nanoUsd: 300 })
  }
  t.match(await limiter.reserve({ ...call, nanoUsd: 300 }), { admitted: false, reason: 'budget_too_small' })
  booked = 1000
  t.match(await limiter.reserve(call), { admitted: false, reason: 'budget' })
})

t.test('the ledger is read once a second, not with every call', async t => {
  let readings = 0
  const limiter = new KeyLocalLimiter(new LocalLimiter({ readUsed: async () => readings++ }))
  await Promise.all(Array.from({ length: 5 }, async () => await limiter.reserve({ ...call, nanoUsd: 1 })))
  await limiter.reserve({ ...call, nanoUsd: 1 })
  t.equal(readings, 1)
})

t.test(
  "a killed process's budget reservation lasts until its usage records are stored and read",
  async t => {
    const state = { isUnrecorded: true, recorded: 0, looks: 0 }
    const limiter = new KeyLocalLimiter(
      new LocalLimiter({
        readUsed: async () => state.recorded,
        rereadMs: 1,
        hasUnrecorded: () => {
          state.looks++
          return state.isUnrecorded
        }
      })
    )
    const wanted = { ...call, limits: { ...call.limits, concurrentCalls: 1 }, nanoUsd: 600 }
    const reason = (): string => reasonOf(limiter.counters.reserve(wanted))
    t.equal((await limiter.reserve(wanted, 'killed')).admitted, true)
    limiter.release('killed')
    t.equal(limiter.counters.open, 0, 'its call is not open any more')
    await until(() => state.looks > 2, 'its journal to be looked for')
    t.equal(reason(), 'budget_reserved', 'its journal waits')
    state.recorded = 500
    state.isUnrecorded = false
    await until(() => [...limiter.counters.holdings()].length === 0, 'its part to be released')
    t.equal(reason(), 'budget_too_small', '500 of 1,000 are spent')
  }
)

/** The traces of a call whose worker is killed: it holds 600, its answer costs 100. */
interface KillPoint {
  /** Its row in the journal. */
  readonly journaled?: 'interrupted' | 'ok'
  readonly isSettled?: boolean
  readonly isStored?: boolean
  readonly costs: number
}

const killPoints: Readonly<Record<string, KillPoint>> = {
  'before its request is sent': { costs: 0 },
  'while its provider works': { journaled: 'interrupted', costs: 600 },
  'once its answer is journaled': { journaled: 'ok', costs: 100 },
  'once it is settled': { journaled: 'ok', isSettled: true, costs: 100 },
  'once its row is stored': { journaled: 'ok', isSettled: true, isStored: true, costs: 100 },
  'once the journal is empty': { isSettled: true, isStored: true, costs: 100 }
}

for (const [point, { journaled, isSettled = false, isStored = false, costs }] of Object.entries(
  killPoints
)) {
  storeTest(
    `a call whose worker is killed ${point} costs ${costs} of the 600 it reserved`,
    async (t, open) => {
      const database = await open()
      const key = { id: call.keyId, name: 'one', limits: call.limits }
      let isUnrecorded = true
      const failures: unknown[] = []
      const limiter = new KeyLocalLimiter(
        new LocalLimiter({
          readUsed: readUsedFrom(database),
          rereadMs: 1,
          hasUnrecorded: () => isUnrecorded,
          onFailure: error => failures.push(error)
        })
      )
      t.teardown(() => limiter.limiter.close())
      const row = usageRowOf(1, { id: 'AAAAAAAA0001-a', at_ms: Date.now(), cost_nano_usd: 100 })
      const decision = await limiter.limiter.reserve(
        { ...requestOf({ ...call, nanoUsd: 600 }), rowId: row.id },
        'worker'
      )
      if (!decision.admitted) throw new Error('refused')
      if (isSettled) {
        limiter.limiter.settle(decision.reservation, {
          used: { nanoUsd: 100 },
          row: { id: row.id, atMs: row.at_ms }
        })
      }
      if (isStored) await database.insertUsage([row])
      const lines = { interrupted: { ...row, outcome: 'interrupted', cost_nano_usd: 600 }, ok: row }
      if (journaled !== undefined) {
        writeFileSync(
          join(database.directory, 'usage-killed.jsonl'),
          `${JSON.stringify(lines[journaled])}\n`
        )
      }

      limiter.release('worker')
      const held = isSettled ? 100 : 600
      t.equal(
        reasonOf(await limiter.reserve({ ...call, nanoUsd: 1001 - held })),
        isSettled ? 'budget_too_small' : 'budget_reserved',
        'what it held counts until its record is imported'
      )
      await importJournals(database, {
        beforeStored: async rows =>
          await limiter.limiter.settleRecorded(
            recordedUsages(rows, id => (id === key.id ? key : undefined), undefined)
          ),
        onImported: () => undefined,
        onFailure: (_, error) => t.error(error)
      })
      isUnrecorded = false
      await until(() => [...limiter.counters.holdings()].length === 0, 'nothing to be held')
      t.equal(reasonOf(await limiter.reserve({ ...call, nanoUsd: 1001 - costs })), 'budget_too_small')
      t.equal(reasonOf(await limiter.reserve({ ...call, nanoUsd: 1000 - costs })), 'admitted')
      t.same(failures, [])
      t.match(
        await database.query.selectFrom('usage').select('cost_nano_usd').execute(),
        costs === 0 ? [] : [{ cost_nano_usd: costs }]
      )
    }
  )
}

t.test(
  'the usage of a killed process counts in addition to unrecorded usage of others',
  async t => {
    let recorded = 0
    const limiter = new LocalLimiter({
      readUsed: async () => recorded,
      rereadMs: 0,
      hasUnrecorded: () => recorded === 0
    })
    const limits = { concurrentCalls: 9, budget: { usd: 1e-6, per: 'day' as const } }
    const wanted = (nanoUsd: number): ReservationRequest => requestOf({ ...call, limits, nanoUsd })
    const { accounts } = wanted(0)
    const live = await limiter.reserve(wanted(300), 'live')
    for (const rowId of ['answered', 'interrupted', 'unsent']) {
      t.match(await limiter.reserve({ ...wanted(200), rowId }, 'killed'), { admitted: true })
    }
    if (live.admitted) limiter.settle(live.reservation, { used: { nanoUsd: 300 } })
    const records = [
      ['answered', 50],
      ['interrupted', 200],
      ['of another time', 9]
    ] as const
    const usages = records.map(([id, nanoUsd]) => ({ accounts, row: { id, atMs: 1 }, used: { nanoUsd } }))
    // one may be imported before the process is known to have exited
    await limiter.settleRecorded(usages.slice(0, 1))
    limiter.release('killed')
    await limiter.settleRecorded(usages)
    await limiter.settleRecorded(usages)
    t.equal(limiter.counters.open, 0)
    recorded = 250 // of the killed process: the other record comes half a second later
    await until(() => [...limiter.counters.sums.holdings()].length === 0, 'what had no record to be released')
    t.equal(
      reasonOf(await limiter.reserve(wanted(451))),
      'budget_too_small',
      '300, 50 and 200 of 1,000 are used'
    )
    t.equal(reasonOf(await limiter.reserve(wanted(450))), 'admitted')
  }
)

t.test(
  'reservations of a killed process are released if its journals cannot be read; closing stops the wait',
  async t => {
    const failures: unknown[] = []
    const limiter = new KeyLocalLimiter(
      new LocalLimiter({
        rereadMs: 1,
        onFailure: error => failures.push(error),
        hasUnrecorded: () => look()
      })
    )
    let look = (): boolean => {
      throw new Error('no folder')
    }
    await limiter.reserve(call, 'killed')
    limiter.release('killed')
    await until(() => [...limiter.counters.holdings()].length === 0, 'its part to be released')
    t.match(failures, [{ message: 'no folder' }])

    let looks = 0
    look = () => ++looks > 0
    await limiter.reserve(call, 'killed')
    limiter.release('killed')
    limiter.close()
    await outlast(20)
    t.equal(looks, 1, 'the store is closed')
    t.equal(failures.length, 1)
  }
)

t.test('a clock that is a day ahead for one call opens no second budget', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const time = { wall: Date.UTC(2025, 10, 21, 12), monotonic: 0 }
  const clock = new SteadyClock(
    () => time.wall,
    () => time.monotonic
  )
  const gateway = gatewayOn(database, {}, () => clock.now())
  let admitted = 0
  for (let number = 0; number < 30; number++) {
    if (number === 9) time.wall += day
    if (number === 10) time.wall -= day
    if (await gateway.call()) admitted++
    time.monotonic += 1000
    time.wall += 1000
  }
  t.equal(admitted, 10)
})

t.test('an outage of the store is one line in the log, however many keys call', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const lines: string[] = []
  const limiter = createLimiter(database, createLog('info', { write: line => lines.push(line) }))
  t.teardown(() => limiter.close())
  await database.query.schema.alterTable('spending').renameTo('moved').execute()
  const keys = new KeyLocalLimiter(limiter)
  for (let key = 0; key < 50; key++) {
    t.equal(reasonOf(await keys.reserve({ ...call, keyId: `${key}` })), 'admitted')
  }
  const [first = ''] = lines
  t.match(JSON.parse(first), { level: 'error', msg: /budgets count this process/ })
  t.equal(lines.length, 1)
})

t.test('an unreadable ledger is reported, and the budget counts what is known', async t => {
  const failures: unknown[] = []
  const limiter = new KeyLocalLimiter(
    new LocalLimiter({
      readUsed: async () => await Promise.reject(new Error('locked')),
      onFailure: error => failures.push(error),
      rereadMs: 0
    })
  )
  const verdicts: boolean[] = []
  for (let number = 0; number < 4; number++) {
    const decision = await limiter.reserve({ ...call, nanoUsd: 400 })
    verdicts.push(decision.admitted)
    if (decision.admitted) limiter.settle(decision.reservation, { tokens: 0, nanoUsd: 400 })
  }
  t.same(verdicts, [true, true, false, false])
  t.equal(failures.length, 4)
})

t.test(
  "workers that disagree on a budget's period during a reload count in both, without a new read",
  async t => {
    let readings = 0
    const limiter = new KeyLocalLimiter(
      new LocalLimiter({
        readUsed: async () => {
          readings++
          return 0
        }
      })
    )
    const monthly: KeyCall = { ...call, limits: { budget: { usd: 1e-6, per: 'month' } } }
    const admitted = { day: 0, month: 0 }
    for (let number = 0; number < 15; number++) {
      if ((await limiter.reserve(call)).admitted) admitted.day++
      if ((await limiter.reserve(monthly)).admitted) admitted.month++
    }
    t.same(admitted, { day: 10, month: 10 })
    t.equal(readings, 2)
  }
)

t.test(
  'for any calls, kills and clocks each sum is what was recorded and reserved, and stays within the limit',
  async t => {
    const seen = { admitted: 0, refused: 0, kills: 0 }
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomFrom(seed)
      const clock = { ms: Date.UTC(2026, 2, 28, 21) }
      const rows: Array<{ readonly party: string, readonly atMs: number, readonly nanoUsd: number }> = []
      /** The calls whose records are stored, oldest first: rows arrive later than calls are counted. */
      let stored = 0
      let isUnrecorded = false
      const limiter = new LocalLimiter({
        now: () => clock.ms,
        rereadMs: 0,
        hasUnrecorded: () => isUnrecorded,
        readUsed: async ({ party, period: { fromMs } }) =>
          rows
            .slice(0, stored)
            .reduce((sum, row) => (row.party === party && row.atMs >= fromMs ? sum + row.nanoUsd : sum), 0)
      })
      const parties: readonly Party[] = [
        {
          kind: 'key',
          id: 'k',
          limits: {
            budgets: [
              { usd: 2e-7, per: 'hour' },
              { usd: 9e-7, per: 'day', timeZone: 'Europe/Berlin' }
            ]
          }
        },
        {
          kind: 'project',
          id: 'p',
          limits: {
            budget: { usd: 1.5e-6, every: '36h', from: '2026-03-01T00:00:00Z' },
            strict: random(2) === 0
          }
        }
      ]
      const accounts = limitAccountsOf(parties)
      const sums = accounts.filter(account => account.counting === 'sum')
      interface Open {
        readonly reservation: number
        readonly rowId: string
        readonly atMs: number
        readonly amounts: readonly number[]
      }
      let open: Open[] = []
      const record = (atMs: number, nanoUsd: number): void => {
        for (const { id } of parties) rows.push({ party: id, atMs, nanoUsd })
      }
      /**
       * The expected remainder: the amount, less the cost of ended calls and the reservations of open ones.
       */
      const leftOf = (place: number): number => {
        const { window, max, party } = sums[place] as SumAccount // a place in the list
        const { fromMs, endMs } = periodAt(window, clock.ms)
        const isIn = ({ atMs }: { readonly atMs: number }): boolean => atMs >= fromMs && atMs < endMs
        const used = rows
          .filter(row => row.party === party.id && isIn(row))
          .reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)
        return max - used - open.filter(isIn).reduce((sum, { amounts }) => sum + (amounts[place] ?? 0), 0)
      }
      for (let step = 0; step < 300; step++) {
        clock.ms += random(4) === 0 ? random(3_000_000) : random(1000)
        const most = 1 + random(120)
        const wanted: RequestedAmounts = {
          nanoUsd: { max: most, min: 1 + random(most), typical: 1 + random(most) }
        }
        const left = sums.map((_, place) => leftOf(place))
        const bounds = sums.map(account => requestedOfSum(account, wanted))
        const rowId = `row-${step}`
        const decision = await limiter.reserve({ accounts, wanted, rowId }, random(2) === 0 ? 'one' : 'two')
        const mayPass = left.every((amount, place) => amount > 0 && (bounds[place]?.min ?? 0) <= amount)
        if (decision.admitted !== mayPass) {
          return t.fail(`seed ${seed}, step ${step}: ${JSON.stringify({ decision, left, bounds })}`)
        }
        seen[decision.admitted ? 'admitted' : 'refused']++
        if (decision.admitted) {
          const amounts = sums.map((account, place) =>
            account.strict ? (decision.granted.nanoUsd ?? 0) : (bounds[place]?.max ?? 0)
          )
          if (amounts.some((amount, place) => amount > (left[place] ?? 0))) {
            return t.fail(`seed ${seed}, step ${step}: more than is left`)
          }
          open.push({ reservation: decision.reservation, rowId, atMs: clock.ms, amounts })
        }
        while (open.length > 0 && random(3) > 0) {
          const [ended] = open.splice(random(open.length), 1)
          if (ended === undefined) break
          const cost = random((ended.amounts[0] ?? 0) + 1)
          record(ended.atMs, cost)
          limiter.settle(ended.reservation, { used: { nanoUsd: cost } })
        }
        if (random(3) === 0) stored = Math.max(stored, rows.length - random(6))
        if (random(40) > 0) continue
        // Both workers are killed: their reservations count until their records are stored, then those
        // say.
        seen.kills++
        isUnrecorded = true
        limiter.release('one')
        limiter.release('two')
        const before = sums.map((_, place) => leftOf(place))
        const refused = await limiter.reserve({ accounts, wanted: { nanoUsd: { max: 1e6 } } })
        if (refused.admitted) return t.fail(`seed ${seed}, step ${step}: what a killed process held is gone`)
        t.ok(before.every((amount, place) => amount <= (sums[place]?.max ?? 0)))
        const killed = open.map(({ rowId, atMs, amounts }) => ({
          rowId,
          atMs,
          cost: random((amounts[0] ?? 0) + 1)
        }))
        await limiter.settleRecorded(
          killed.map(({ rowId: id, atMs, cost }) => ({
            accounts,
            row: { id, atMs },
            used: { nanoUsd: cost }
          }))
        )
        // Their rows are stored before those of calls that ended earlier in running processes.
        const late = rows.splice(stored)
        for (const { atMs, cost } of killed) record(atMs, cost)
        stored = rows.length
        rows.push(...late)
        open = []
        isUnrecorded = false
        await until(() => [...limiter.counters.sums.holdings()].length === 0, 'what they held to be released')
      }
      for (const { atMs, reservation, amounts: [cost = 0] } of open.splice(0)) {
        record(atMs, cost)
        limiter.settle(reservation, { used: { nanoUsd: cost } })
      }
      stored = rows.length
      const { used } = await limiter.reserve({ accounts, wanted: {}, purpose: 'describe' })
      t.same(used, sums.map(({ max }, place) => max - leftOf(place)), `seed ${seed}: what was recorded is used`)
      t.equal(limiter.counters.open, 0)
      t.same([...limiter.counters.sums.holdings()], [], 'nothing stays reserved')
      limiter.close()
    }
    t.equal(seen.admitted + seen.refused, 20 * 300)
    t.ok(Math.min(seen.admitted, seen.refused) > 1000 && seen.kills > 100, JSON.stringify(seen))
  }
)
