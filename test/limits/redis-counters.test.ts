import { Redis } from 'ioredis'
import t from 'tap'
import { refusals } from '../../lib/limits/limit-table.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import { LimitCounters } from '../../lib/limits/counters.ts'
import { RedisCounters } from '../../lib/limits/redis-counters.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { KeyCounters, reasonOf, requestOf, usageOf, type KeyCall } from '../support/limits.ts'
import { until } from '../support/until.ts'

const wanted: KeyCall = { keyId: 'key-1', limits: {}, tokens: 0, nanoUsd: 0 }

t.test('counters in Redis', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const server = await redis.connect(t)
  const counters = new RedisCounters(server)
  let last = 0
  const reserve = async (parts: Partial<KeyCall>, { id = `call-${++last}`, recorded = 0 } = {}) => {
    const {
      decision,
      used: [sum],
      reservation
    } = await counters.reserve(id, requestOf({ ...wanted, keyId: t.name, ...parts }), () => recorded)
    return {
      spent: sum?.used ?? 0,
      decision: decision.admitted ? { ...decision, nanoUsd: decision.granted.nanoUsd } : decision,
      reservation
    }
  }

  await t.test('they decide like the counters in memory', async t => {
    const memory = new KeyCounters(new LimitCounters(() => server.now()))
    const budget = { usd: 1.5e-7, per: 'day' as const }
    const limitsOf: readonly PartyLimits[] = [
      { budget },
      { requestsPerMinute: 20, budget: { ...budget, usd: 1 } },
      { tokensPerMinute: 300 },
      { concurrentCalls: 4 }
    ]
    const open: Array<[here: number, there: Parameters<RedisCounters['settle']>[0]]> = []
    const seen = new Set<string>()
    for (let call = 0; call < 320; call++) {
      const request = {
        keyId: `both-${call % 4}`,
        limits: limitsOf[call % 4] ?? {},
        tokens: (call * 37) % 60,
        nanoUsd: (call * 53) % 90,
        minNanoUsd: call < 200 ? 10 : 1
      }
      const here = memory.reserve(request)
      const { decision, reservation } = await reserve(request)
      const reason = decision.admitted ? 'admitted' : decision.reason
      t.equal(reason, reasonOf(here), `call ${call}`)
      seen.add(reason)
      if (here.admitted && decision.admitted) {
        t.equal(decision.nanoUsd, here.nanoUsd)
        open.push([here.reservation, reservation])
      }
      if (open.length > call % 40) {
        const [mine, theirs] = open.shift() ?? [0, reservation]
        const used = { tokens: call % 50, nanoUsd: call * 3 % 40, moreRequests: call % 13 === 0 ? 1 : 0 }
        memory.settle(mine, used)
        await counters.settle(theirs, usageOf(used))
      }
    }
    t.same(
      seen,
      new Set([
        'admitted',
        ...refusals.filter(name => !name.startsWith('images') && name !== 'budget_unread')
      ])
    )
  })

  await t.test('daily images are counted like those in memory', async t => {
    const memory = new LimitCounters(() => server.now())
    const request = (images: number) =>
      requestOf({ ...wanted, keyId: 'images', limits: { imagesPerDay: 10 }, images })
    for (const [images, used, expected] of [
      [4, 3, 'admitted'],
      [6, 6, 'admitted'],
      [2, 0, 'images_too_small'],
      [1, 1, 'admitted'],
      [1, 0, 'images']
    ] as const) {
      const here = memory.reserve(request(images))
      const { decision, reservation } = await counters.reserve(`images-${images}-${used}`, request(images))
      t.same([reasonOf(here), decision.admitted ? 'admitted' : decision.reason], [expected, expected])
      if (here.admitted) memory.settle(here.reservation, { used: { images: used } })
      if (decision.admitted) await counters.settle(reservation, { used: { images: used } })
    }
  })

  await t.test('the largest budget is exact to a billionth of a dollar', async t => {
    const limits = { budget: { usd: 1_000_000, per: 'total' as const } }
    const first = await reserve({ keyId: 'large', limits, nanoUsd: 999_999_999_999_998 })
    await counters.settle(first.reservation, usageOf({ tokens: 0, nanoUsd: 999_999_999_999_998 }))
    t.match((await reserve({ keyId: 'large', limits, nanoUsd: 3 })).decision, {
      admitted: false,
      reason: 'budget_too_small'
    })
    const last = await reserve({ keyId: 'large', limits, nanoUsd: 3, minNanoUsd: 1 })
    t.match(last, { spent: 999_999_999_999_998, decision: { admitted: true, nanoUsd: 2 } })
    t.match((await reserve({ keyId: 'large', limits, nanoUsd: 1 })).decision, {
      admitted: false,
      reason: 'budget_reserved'
    })
  })

  await t.test(
    'counts and reservations of an earlier version in Redis apply, and it can settle and release them',
    async t => {
      const client = new Redis(redis.url)
      t.teardown(() => client.disconnect())
      const from = Date.UTC(new Date(server.now()).getUTCFullYear(), new Date(server.now()).getUTCMonth())
      const name = 'headgate:{earlier}'
      await client.hset(`${name}:budget:month:${from}`, { spent: '400', reserved: '300', 'old-1': '300' })
      await client.zadd(`${name}:leases:month:${from}`, server.now() + 30_000, 'old-1')
      await client.zadd(`${name}:open`, server.now() + 30_000, 'old-1')
      await client.hset(`${name}:rates`, {
        tokens_debt: String(60 * 60_000),
        tokens_at: String(server.now())
      })
      const limits: PartyLimits = {
        budget: { usd: 1e-6, per: 'month' },
        concurrentCalls: 2,
        tokensPerMinute: 100
      }
      t.match((await reserve({ keyId: 'earlier', limits, nanoUsd: 301 })).decision, {
        reason: 'budget_reserved'
      })
      t.match((await reserve({ keyId: 'earlier', limits, nanoUsd: 300, tokens: 80 })).decision, {
        reason: 'tokens'
      })
      const { decision, reservation, spent } = await reserve({
        keyId: 'earlier',
        limits,
        nanoUsd: 300,
        tokens: 10
      })
      t.match(decision, { admitted: true })
      t.equal(spent, 400)
      t.match(
        (await reserve({ keyId: 'earlier', limits })).decision,
        { reason: 'concurrent_calls' },
        'its open call has a place'
      )
      const fields = await client.hgetall(`${name}:budget:month:${from}`)
      t.match(
        fields,
        { spent: '400', reserved: '600', 'old-1': '300', [reservation.id]: '300' },
        'as an earlier version reads it'
      )
      t.same(
        new Set(await client.zrange(`${name}:leases:month:${from}`, '0', '-1')),
        new Set(['old-1', reservation.id])
      )
      await counters.settle(reservation, usageOf({ tokens: 10, nanoUsd: 100 }))
      t.match(await client.hgetall(`${name}:budget:month:${from}`), { spent: '500', reserved: '300' })
    }
  )

  await t.test('a settlement that arrives twice counts once', async t => {
    const limits = { budget: { usd: 1, per: 'day' as const }, tokensPerMinute: 100 }
    const { reservation } = await reserve({ keyId: 'twice', limits, nanoUsd: 10, tokens: 10 })
    for (let time = 0; time < 2; time++) {
      await counters.settle(reservation, usageOf({ tokens: 30, nanoUsd: 7 }))
    }
    const after = await reserve({ keyId: 'twice', limits })
    t.equal(after.spent, 7)
    t.match(after.decision, { rateLimits: { tokens: { remaining: 70 } } })
  })

  await t.test('usage that is recorded but missing in Redis counts', async t => {
    const limits = { budget: { usd: 1e-6, per: 'day' as const } }
    t.equal((await reserve({ keyId: 'recorded', limits, nanoUsd: 100 }, { recorded: 400 })).spent, 400)
    t.equal(
      (await reserve({ keyId: 'recorded', limits, nanoUsd: 100 }, { recorded: 300 })).spent,
      400,
      'a late reading takes nothing back'
    )
    t.match((await reserve({ keyId: 'recorded', limits, nanoUsd: 401 })).decision, {
      admitted: false,
      reason: 'budget_reserved'
    })
  })

  await t.test(
    'a refund is kept even if the usage records do not have it yet',
    async t => {
      const limits = { budget: { usd: 1e-6, per: 'day' as const } }
      const late = await reserve({ keyId: 'refunded', limits, purpose: 'count' }, { recorded: 900 })
      await counters.settle(late.reservation, usageOf({ tokens: 0, nanoUsd: -800 }))
      t.equal(
        (await reserve({ keyId: 'refunded', limits }, { recorded: 900 })).spent,
        100,
        'before it is recorded'
      )
      t.equal(
        (await reserve({ keyId: 'refunded', limits }, { recorded: 950 })).spent,
        150,
        'with what others have spent meanwhile, at least'
      )
    }
  )

  await t.test('a call whose lease expired is restored once', async t => {
    const limits = { concurrentCalls: 2, budget: { usd: 1e-6, per: 'day' as const } }
    const reservation = counters.plan(
      'renewed',
      requestOf({ ...wanted, keyId: 'lost', limits, nanoUsd: 600 })
    )
    for (let time = 0; time < 2; time++) await counters.renew(reservation)
    t.match((await reserve({ keyId: 'lost', limits, nanoUsd: 401 })).decision, { reason: 'budget_reserved' })
    t.match((await reserve({ keyId: 'lost', limits, nanoUsd: 400 })).decision, { admitted: true })
    t.match((await reserve({ keyId: 'lost', limits })).decision, { reason: 'concurrent_calls' })
  })

  await t.test(
    "a crashed gateway's reservations are released once its leases expire, whatever other calls the key has",
    async t => {
      const leases = { leaseMs: 20, lostAfterMs: 60 }
      const crashing = new RedisCounters(server, leases)
      const limits: PartyLimits = { concurrentCalls: 3, budget: { usd: 1e-6, per: 'total' } }
      const wantedOf = (keyId: string, own: PartyLimits = limits) =>
        requestOf({ ...wanted, keyId, limits: own, nanoUsd: 600 })
      const idle = async (): Promise<void> => undefined
      const shown = async (keyId: string): Promise<void> =>
        await crashing.renew(crashing.plan(`renewed-${keyId}`, wantedOf(keyId)))
      const rows: ReadonlyArray<
        readonly [
          name: string,
          crash: (keyId: string) => Promise<unknown>,
          meanwhile: (keyId: string) => Promise<unknown>
        ]
      > = [
        ['idle', async keyId => await crashing.reserve(`crashed-${keyId}`, wantedOf(keyId)), idle],
        ['renewed', shown, idle],
        [
          'without-budget',
          shown,
          async keyId => await crashing.reserve(`free-${keyId}`, wantedOf(keyId, { concurrentCalls: 3 }))
        ],
        [
          'other-period',
          shown,
          async keyId =>
            await crashing.reserve(`daily-${keyId}`, wantedOf(keyId, { budget: { usd: 1e-6, per: 'day' } }))
        ]
      ]
      for (const [keyId, crash] of rows) {
        await crash(keyId)
        // With leases that do not expire yet, however slow the machine is.
        t.match(
          (await counters.reserve(`early-${keyId}`, wantedOf(keyId))).decision,
          { reason: 'budget_reserved' },
          keyId
        )
      }
      const lostAtMs = server.now() + 2 * (leases.leaseMs + leases.lostAfterMs)
      await until(() => server.now() > lostAtMs, 'the leases to be lost')
      for (const [keyId, , meanwhile] of rows) {
        await meanwhile(keyId)
        t.match(
          (await crashing.reserve(`late-${keyId}`, wantedOf(keyId))).decision,
          { admitted: true, granted: { nanoUsd: 600 } },
          keyId
        )
      }
    }
  )
})
