import t from 'tap'
import { LimitCounters } from '../../lib/limits/counters.ts'
import { countersOf, sumsOf } from '../../lib/limits/sum-keys.ts'
import { dayMs } from '../../lib/core/day.ts'
import { KeyCounters, reasonOf, requestOf, type KeyDecision } from '../support/limits.ts'
import type { PartyLimits } from '../../lib/core/key.ts'

t.test('a reservation succeeds or fails as a whole', async t => {
  const clock = { ms: Date.UTC(2025, 10, 21, 12) }
  const counters = new KeyCounters(new LimitCounters(() => clock.ms))
  const ask = (limits: PartyLimits, tokens = 0, nanoUsd = 0): KeyDecision =>
    counters.reserve({ keyId: 'a', limits, tokens, nanoUsd })
  const limits: PartyLimits = {
    requestsPerMinute: 4,
    tokensPerMinute: 100,
    concurrentCalls: 2,
    budget: { usd: 1e-6, per: 'day' },
    strict: false
  }
  const first = ask(limits, 60, 600)
  t.match(first, {
    admitted: true,
    rateLimits: {
      requests: { limit: 4, remaining: 3, resetMs: 15_000 },
      tokens: { limit: 100, remaining: 40, resetMs: 36_000 }
    }
  })
  t.match(ask(limits, 60), {
    admitted: false,
    reason: 'tokens',
    waitMs: 12_000,
    rateLimits: { requests: { remaining: 3 } }
  })
  t.match(ask(limits, 10, 600), { admitted: false, reason: 'budget_reserved', waitMs: 1000 })
  t.match(ask(limits, 10, 1001), { admitted: false, reason: 'budget_too_small' })
  const second = ask(limits, 10, 100)
  t.equal(reasonOf(ask(limits, 1, 1)), 'concurrent_calls')
  t.match(
    second,
    { admitted: true, rateLimits: { requests: { remaining: 2 }, tokens: { remaining: 30 } } },
    'refusals took nothing'
  )
  if (!first.admitted || !second.admitted) return
  counters.settle(first.reservation, { tokens: 90, nanoUsd: 1000 })
  counters.settle(first.reservation, { tokens: 90, nanoUsd: 1000 })
  t.equal(counters.open, 1)
  t.equal(reasonOf(ask(limits)), 'budget', 'it is used up')
  clock.ms += dayMs / 2
  t.equal(
    reasonOf(ask(limits, 1000, 1000)),
    'admitted',
    'a new day; more tokens than a minute has wait for a full bucket'
  )
  counters.settle(second.reservation, { tokens: 0, nanoUsd: 999 })
  t.equal(reasonOf(ask(limits, 20)), 'tokens', 'and the spending of yesterday stays there')
  clock.ms += 60_000
  t.equal(reasonOf(ask(limits, 0, 1)), 'budget_reserved')
})

t.test('the reservations of an exited process are released', async t => {
  const counters = new KeyCounters(new LimitCounters(() => 0))
  const wanted = { keyId: 'a', limits: { concurrentCalls: 2, tokensPerMinute: 10 }, tokens: 5, nanoUsd: 0 }
  t.equal(reasonOf(counters.reserve(wanted, 'one')), 'admitted')
  t.equal(reasonOf(counters.reserve(wanted, 'two')), 'admitted')
  t.equal(reasonOf(counters.reserve(wanted, 'two')), 'concurrent_calls')
  counters.release('one')
  t.match(counters.reserve(wanted, 'two'), { admitted: true, rateLimits: { tokens: { remaining: 0 } } })
  counters.release('two')
  t.equal(counters.open, 0)
})

t.test('the budget shares of an exited process stay reserved until they are released separately', async t => {
  const clock = { ms: Date.UTC(2025, 10, 21, 12) }
  const counters = new KeyCounters(new LimitCounters(() => clock.ms))
  const wanted = {
    keyId: 'a',
    limits: { concurrentCalls: 1, budget: { usd: 1e-6, per: 'day' } },
    tokens: 0,
    nanoUsd: 600
  } as const
  counters.reserve(wanted, 'one')
  t.match(counters.release('one'), [{ party: 'a', unit: 'nanoUsd' }])
  t.equal(counters.open, 0)
  t.equal(reasonOf(counters.reserve(wanted)), 'budget_reserved', 'its call is not open any more')
  t.match([...counters.holdings()], [{ party: 'a', unit: 'nanoUsd', amount: 600 }])
  counters.releaseSums('one')
  const next = counters.reserve(wanted, 'two')
  t.equal(reasonOf(next), 'admitted')
  counters.release('two')
  clock.ms += dayMs
  t.equal(reasonOf(counters.reserve(wanted, 'three')), 'admitted')
  counters.releaseSums('two')
  t.match([...counters.holdings()], [{ amount: 600 }], 'what was reserved yesterday does not count today')
})

t.test("a call admitted earlier is counted but takes no other call's slot", async t => {
  const counters = new KeyCounters(new LimitCounters(() => 0))
  const limits: PartyLimits = { tokensPerMinute: 10, concurrentCalls: 1 }
  const late = counters.reserve({ keyId: 'a', limits, tokens: 0, nanoUsd: 0, purpose: 'count' })
  const call = counters.reserve({ keyId: 'a', limits, tokens: 10, nanoUsd: 0 })
  if (!late.admitted || !call.admitted) return t.fail('one was refused')
  t.ok(
    counters.reserve({ keyId: 'a', limits, tokens: 0, nanoUsd: 0, purpose: 'count' }).admitted,
    'whatever is left'
  )
  counters.settle(late.reservation, { tokens: 5, nanoUsd: 0 })
  t.equal(reasonOf(counters.reserve({ keyId: 'a', limits, tokens: 0, nanoUsd: 0 })), 'concurrent_calls')
  counters.settle(call.reservation, { tokens: 4, nanoUsd: 0 })
  t.match(counters.reserve({ keyId: 'a', limits, tokens: 1, nanoUsd: 0 }), {
    admitted: true,
    rateLimits: { tokens: { remaining: 0 } }
  })
})

t.test('a ledger read that ends after midnight changes nothing of the new day', async t => {
  const clock = { ms: Date.UTC(2025, 10, 21, 23, 59) }
  const counters = new KeyCounters(new LimitCounters(() => clock.ms))
  const wanted = { keyId: 'a', limits: { budget: { usd: 1, per: 'day' } }, tokens: 0, nanoUsd: 6e8 } as const
  const [yesterday] = sumsOf(countersOf(requestOf(wanted).accounts, clock.ms))
  clock.ms += dayMs / 2
  t.equal(reasonOf(counters.reserve(wanted)), 'admitted')
  if (yesterday === undefined) return t.fail('no period')
  counters.counters.sums.setUsed(yesterday, 5)
  counters.counters.sums.setElsewhere(yesterday, 1e9)
  t.equal(reasonOf(counters.reserve(wanted)), 'budget_reserved')
  t.equal(
    reasonOf(counters.reserve({ ...wanted, nanoUsd: 4e8 })),
    'admitted',
    'all but the reservation is left'
  )
})

t.test('counters of unused keys are deleted', async t => {
  const clock = { ms: Date.UTC(2025, 10, 21, 12) }
  const counters = new KeyCounters(new LimitCounters(() => clock.ms))
  const limits: PartyLimits = {
    requestsPerMinute: 10,
    tokensPerMinute: 10,
    concurrentCalls: 2,
    budget: { usd: 1, per: 'day' }
  }
  const call = (keyId: string): KeyDecision => counters.reserve({ keyId, limits, tokens: 10, nanoUsd: 1 })
  const open = call('open')
  const useKeys = (prefix: string): void => {
    for (let number = 0; number < 5000; number++) {
      const decision = call(`${prefix}-${number}`)
      if (decision.admitted) counters.settle(decision.reservation, { tokens: 10, nanoUsd: 1 })
    }
  }
  useKeys('day-1')
  t.equal(counters.size, 15_004, 'each has spent of its budget')
  for (let day = 2; day < 6; day++) {
    clock.ms += dayMs
    useKeys(`day-${day}`)
  }
  t.ok(counters.size < 3 * 11_000, `${counters.size} keys`)
  t.equal(counters.open, 1)
  if (open.admitted) counters.settle(open.reservation, { tokens: 0, nanoUsd: 0 })
  t.equal(reasonOf(call('open')), 'admitted')
  t.equal(reasonOf(call('open')), 'tokens', 'an open call was not forgotten: its key has owed since')
})
