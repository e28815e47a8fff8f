/**
 * Checks left = amount − used − reserved for random windows while clocks jump: past the ends of windows, by
 * hours, and backwards when a process restarts. The reference adds up all calls for each decision, and finds
 * windows from a clock.
 */

import { limitAccountsOf, type SumAccount } from '../../lib/limits/call-accounts.ts'
import { counterName } from '../../lib/limits/sum-keys.ts'
import { requestedOfSum } from '../../lib/limits/reservation.ts'
import { LocalLimiter, readUsedFrom } from '../../lib/limits/limiter.ts'
import { randomFrom } from '../support/limits.ts'
import { rounds } from '../support/rounds.ts'
import { changesOf, changingZones, slowWindow } from '../support/slow-windows.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Budget } from '../../lib/core/key.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

/** The amount and the time of a call. */
interface Part {
  readonly atMs: number
  readonly nanoUsd: number
}

interface Open extends Part {
  readonly reservation: number
}

const kinds = ['key', 'end_user', 'member', 'tag', 'model', 'project'] as const
const steps = 150
const mostOfCall = 120
const hourMs = 3_600_000

function randomBudgets (random: (below: number) => number, zone: string): Budget[] {
  return Array.from({ length: 1 + random(3) }, (): Budget => {
    const usd = (200 + random(1500)) / 1e9
    const every = ['15m', '90m', '36h', '30d'][random(12)]
    if (every !== undefined) return { usd, every, from: '2029-12-31T23:15:00Z' }
    const timeZone = [zone, zone, zone, zone, 'Asia/Kathmandu', undefined][random(6)]
    const per = (['hour', 'hour', 'hour', 'day', 'week', 'month', 'total'] as const)[random(7)] ?? 'hour'
    return { usd, per, ...timeZone !== undefined && { timeZone } }
  })
}

/** @returns the number of admitted calls and of window ends that the clock passed */
async function jump (t: Test, database: Database, seed: number): Promise<{ admitted: number, ends: number }> {
  const random = randomFrom(seed)
  const zone = seed % 2 === 0 ? 'Australia/Lord_Howe' : changingZones[seed % changingZones.length] ?? 'UTC'
  const kind = kinds[seed % kinds.length] ?? 'key'
  const id = `jumping-${seed}`
  const limits = { budgets: randomBudgets(random, zone), strict: seed % 3 > 0 }
  const accounts = limitAccountsOf([{ kind, id, limits }]) as SumAccount[] // only the budgets remain
  const isNamed = kind === 'tag' || kind === 'end_user' || kind === 'model'
  const parties = isNamed ? JSON.stringify([counterName({ kind, id })]) : null
  const changes = changesOf(zone)
  const changeMs = changes[random(changes.length)] ?? NaN
  const beforeChange = (): number => changeMs - random(3 * hourMs)
  const clock = { ms: beforeChange() }
  const start = (): LocalLimiter => new LocalLimiter({
    readUsed: readUsedFrom(database), now: () => clock.ms, rereadMs: 0, onFailure: error => t.error(error)
  })
  let limiter = start()
  const used: Part[] = []
  let open: Open[] = []
  let waiting: UsageRow[] = []
  const use = (atMs: number, nanoUsd: number): void => {
    used.push({ atMs, nanoUsd })
    const row = { id: `${id}-${used.length}`, at_ms: atMs, key_id: id, parties, cost_nano_usd: nanoUsd }
    waiting.push(usageRowOf(used.length, row))
  }
  const store = async (): Promise<void> => {
    await database.insertUsage(waiting)
    waiting = []
  }
  const inWindow = ({ window }: SumAccount, parts: readonly Part[]): number => {
    const { fromMs, endMs } = slowWindow(window, clock.ms)
    return parts.reduce((sum, { atMs, nanoUsd }) => sum + (atMs >= fromMs && atMs < endMs ? nanoUsd : 0), 0)
  }
  let [admitted, ends] = [0, 0]
  for (let step = 0; step < steps; step++) {
    const { endMs } = slowWindow((accounts[random(accounts.length)] as SumAccount).window, clock.ms)
    const nearMs = endMs === Infinity ? clock.ms : endMs
    const later = [
      clock.ms + random(20 * 60_000), nearMs - 1, nearMs, nearMs + random(hourMs),
      clock.ms + random(10 * hourMs)
    ]
    const fromMs = clock.ms
    if (random(2) === 0) clock.ms = Math.max(fromMs, later[random(later.length)] ?? NaN)
    if (fromMs < endMs && clock.ms >= endMs) ends++
    if (random(12) === 0) {
      // Another process, with any clock.
      await store()
      use(clock.ms + random(60 * hourMs) - 30 * hourMs, random(60))
      await store()
    }
    if (random(15) === 0) {
      // It is killed, and its successor, with a corrected clock, imports the records of its calls.
      for (const { atMs, nanoUsd } of open) use(atMs, nanoUsd)
      open = []
      await store()
      limiter.close()
      clock.ms = beforeChange()
      limiter = start()
    }
    const max = 1 + random(mostOfCall)
    const wanted = { nanoUsd: { max, min: 1 + random(max), typical: max } }
    const expected = accounts.map(account => {
      const { endMs } = slowWindow(account.window, clock.ms)
      const ofAll = inWindow(account, used)
      const left = account.max - ofAll
      const free = left - inWindow(account, open)
      const { min } = requestedOfSum(account, wanted)
      const passes = left > 0 && min <= free
      return { ofAll, free, passes, endMs: endMs === Infinity ? undefined : endMs }
    })
    const decision = await limiter.reserve({ accounts, wanted })
    const fail = (how: string): never => {
      const now = new Date(clock.ms)
      throw new Error(JSON.stringify({ how, seed, step, now, decision, expected, limits, max }))
    }
    if (decision.used.some((amount, place) => amount !== expected[place]?.ofAll)) fail('used')
    if (decision.admitted !== expected.every(({ passes }) => passes)) fail('decided')
    if (!decision.admitted) {
      const refused = expected[decision.accountIndex]
      if (refused?.passes !== false || refused.endMs !== decision.endMs) fail('refused')
    } else {
      const held = decision.granted.nanoUsd ?? NaN
      if (limits.strict && held !== Math.min(max, ...expected.map(({ free }) => free))) fail('granted')
      open.push({ atMs: clock.ms, nanoUsd: held, reservation: decision.reservation })
      admitted++
    }
    while (open.length > 0 && random(3) > 0) {
      const [ended] = open.splice(random(open.length), 1) as [Open]
      const nanoUsd = random(Math.min(ended.nanoUsd, 40) + 1)
      use(ended.atMs, nanoUsd)
      limiter.settle(ended.reservation, { used: { nanoUsd } })
    }
    if (random(4) === 0) await store()
  }
  limiter.close()
  return { admitted, ends }
}

const seeds = Array.from({ length: rounds(60) }, (_, place) => place + 1)

storeTest('however clocks jump, a call counts in the windows that contain its time', async (t, open) => {
  const database = await open()
  let [admitted, ends] = [0, 0]
  for (const seed of seeds) {
    const result = await jump(t, database, seed)
    admitted += result.admitted
    ends += result.ends
  }
  t.ok(admitted > seeds.length * steps / 5, `${admitted} admitted`)
  t.ok(ends > seeds.length, `${ends} ends of windows`)
})
