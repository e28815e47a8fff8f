import fc from 'fast-check'
import t from 'tap'
import { RateCounters } from '../../lib/limits/rate-counters.ts'
import type { RateOrConcurrencyAccount } from '../../lib/limits/call-accounts.ts'
import type { RateLimitStatus } from '../../lib/limits/reservation.ts'
import { holds } from '../support/property.ts'

const party = { kind: 'key', id: 'key-1' } as const
const requests: RateOrConcurrencyAccount = {
  party, counting: 'rate', unit: 'requests', limitName: 'requests_per_minute', max: 2
}
const calls: RateOrConcurrencyAccount = {
  party, counting: 'open', unit: 'calls', limitName: 'concurrent_calls', max: 1
}

function statusOf (
  rates: RateCounters, account: RateOrConcurrencyAccount, nowMs: number
): RateLimitStatus | undefined {
  return rates.statusesOf([account], nowMs).requests
}

t.test('a limit per minute refills evenly', async t => {
  const rates = new RateCounters(() => 0)
  t.equal(rates.waitMs(requests, 2, 0), 0)
  rates.add(requests, 2, 0)
  t.equal(rates.waitMs(requests, 1, 0), 30_000)
  t.equal(rates.waitMs(requests, 1, 30_000), 0)
  t.strictSame(
    rates.statusesOf([calls, requests, { ...requests, party: { kind: 'project', id: 'p' }, max: 9 }], 0),
    { requests: { limit: 2, remaining: 0, resetMs: 60_000 } },
    'the first of two parties that have the same limit is described'
  )
})

t.test('a limit never gives more than one minute of its amount plus the refill', async t => {
  const wish = fc.record({
    afterMs: fc.integer({ min: 0, max: 30_000 }),
    amount: fc.integer({ min: 1, max: 20 })
  })
  holds(
    t,
    fc.property(
      fc.integer({ min: 1, max: 97 }),
      fc.array(wish, { minLength: 1, maxLength: 60 }),
      (max, wishes) => {
        const account = { ...requests, max }
        const rates = new RateCounters(() => nowMs)
        let nowMs = 1_763_686_800_000
        const taken: Array<{ atMs: number, amount: number }> = []
        for (const { afterMs, amount } of wishes) {
          nowMs += afterMs
          const wait = rates.waitMs(account, amount, nowMs)
          if (wait > 0) {
            // it must be enough
            if (amount <= max && rates.waitMs(account, amount, nowMs + wait) > 0) return false
            if (rates.waitMs(account, amount, nowMs + wait - 1) === 0) return false // and no more than that
            continue
          }
          if ((statusOf(rates, account, nowMs)?.remaining ?? 0) < amount) return false
          rates.add(account, amount, nowMs)
          taken.push({ atMs: nowMs, amount })
        }
        return taken.every((first, from) => {
          let sum = 0
          return taken.slice(from).every(({ atMs, amount }) => {
            sum += amount
            return sum <= max + (max * (atMs - first.atMs)) / 60_000
          })
        })
      }
    ),
    { numRuns: 500 }
  )
})

t.test('a returned amount leaves the bucket as if never taken', async t => {
  const before = fc.record({
    max: fc.integer({ min: 1, max: 997 }),
    owed: fc.nat(1000),
    waitMs: fc.nat(90_000),
    amount: fc.nat(500),
    reservedMs: fc.nat(90_000)
  })
  holds(
    t,
    fc.property(before, ({ max, owed, waitMs, amount, reservedMs }) => {
      const account = { ...requests, max }
      const [one, other] = [new RateCounters(() => 0), new RateCounters(() => 0)]
      for (const rates of [one, other]) rates.add(account, owed, 1000)
      one.add(account, amount, 1000 + waitMs)
      const endMs = 1000 + waitMs + reservedMs
      one.add(account, -amount, endMs)
      const [back, untouched] = [one, other].map(rates => statusOf(rates, account, endMs))
      return back?.resetMs === untouched?.resetMs && back?.remaining === untouched?.remaining
    }),
    { numRuns: 500 }
  )
})

t.test('a clock that is set back blocks no key', async t => {
  const account = { ...requests, max: 60 }
  const rates = new RateCounters(() => 0)
  rates.add(account, 60, 10_000_000)
  t.equal(rates.waitMs(account, 1, 5_000_000), 1000)
  rates.add(account, 0, 5_000_000)
  t.equal(rates.waitMs(account, 1, 5_001_000), 0)
})

t.test('an open call takes a slot until it ends', async t => {
  const rates = new RateCounters(() => 0)
  rates.add(calls, 1, 0)
  t.equal(rates.waitMs(calls, 1, 0), 1000)
  t.equal(rates.waitMs({ ...calls, party: { kind: 'key', id: 'key-2' } }, 1, 0), 0)
  rates.add(calls, -1, 0)
  t.equal(rates.waitMs(calls, 1, 0), 0)
  t.equal(rates.size, 0, 'nothing is kept of a party without open calls')
})
