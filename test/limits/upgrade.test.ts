/** A recorded store and Redis of an earlier version, when budgets had no windows. */

import { DatabaseSync } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { LocalLimiter, readUsedFrom } from '../../lib/limits/limiter.ts'
import { RedisCounters } from '../../lib/limits/redis-counters.ts'
import { isSqlite } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { importJournals } from '../../lib/usage/import-journals.ts'
import { KeyLocalLimiter, reasonOf, requestOf, type KeyCall } from '../support/limits.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/earlier-version')
const monthMs = Date.UTC(2026, 10)

t.test(
  "the budget of an earlier version's store continues: records, open calls and journals count once",
  async t => {
    const directory = t.testdir()
    const file = new DatabaseSync(join(directory, 'headgate.db'))
    file.exec(readFileSync(join(fixtures, 'store.sql'), 'utf8'))
    file.close()
    const database = await openDatabase(directory, { busyTimeoutMs: 0 })
    t.teardown(database.close)
    if (!isSqlite(database)) throw new Error('another store')
    const keys = await openKeyStore(database, [])
    t.teardown(keys.close)
    const limits = keys.find?.('key_earlier')?.limits
    t.strictSame(limits, { budget: { usd: 1e-6, per: 'month' } })

    const clock = { ms: Date.UTC(2026, 10, 26, 12, 30) }
    const limiter = new KeyLocalLimiter(
      new LocalLimiter({
        shared: database,
        readUsed: readUsedFrom(database),
        now: () => clock.ms,
        beatMs: 20,
        rereadMs: 0,
        onFailure: error => t.error(error)
      })
    )
    t.teardown(() => limiter.limiter.close())
    const reserve = async (nanoUsd: number) =>
      await limiter.reserve({ keyId: 'key_earlier', limits: limits ?? {}, tokens: 0, nanoUsd })
    // 170 of 1,000 are recorded this month; two gateways that are still running hold 340 and 1.
    t.equal(reasonOf(await reserve(490)), 'budget_reserved')
    const call = await reserve(489)
    if (!call.admitted) throw new Error('refused')
    const held = await database.query
      .selectFrom('holdings')
      .selectAll()
      .where('gateway_id', 'not like', '000000000000-%')
      .execute()
    t.match(
      held,
      [{ key_id: 'key_earlier', from_ms: monthMs, nano_usd: 489 }],
      'an earlier gateway reads what this one holds'
    )
    limiter.settle(call.reservation, { tokens: 0, nanoUsd: 0 })

    // They are gone, and leave a journal: a stored record, one not stored, and an interrupted call.
    copyFileSync(join(fixtures, 'journal.jsonl'), join(directory, 'usage-earlier.jsonl'))
    const imported: number[] = []
    await importJournals(database, {
      onImported: (_, rows) => imported.push(rows),
      onFailure: (_, error) => t.error(error)
    })
    t.same(imported, [2])
    clock.ms += 11 * 60_000
    await until(
      async () => (await database.query.selectFrom('gateways').selectAll().execute()).length === 1,
      'them to be taken for gone'
    )
    t.equal(reasonOf(await reserve(761)), 'budget_too_small', '170, 40 and 30 of 1,000 are spent')
    t.equal(reasonOf(await reserve(760)), 'admitted')
  }
)

t.test(
  "the budget of an earlier version's Redis continues, beside a gateway that still uses it",
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const client = new Redis(redis.url)
    t.teardown(() => client.disconnect())
    const server = await redis.connect(t)
    const recorded = JSON.parse(readFileSync(join(fixtures, 'redis.json'), 'utf8')) as ReadonlyArray<
      { readonly key: string } & (
        { readonly hash: Record<string, string> } | { readonly zset: Record<string, number> }
      )
    >
    for (const { key, ...value } of recorded) {
      if ('hash' in value) {
        for (const [field, text] of Object.entries(value.hash)) {
          await client.hset(key, field, text === 'now' ? server.now() : text)
        }
      } else {
        for (const [member, leftMs] of Object.entries(value.zset)) {
          await client.zadd(key, server.now() + leftMs, member)
        }
      }
    }
    const counters = new RedisCounters(server)
    const limits = {
      requestsPerMinute: 100,
      tokensPerMinute: 1000,
      concurrentCalls: 3,
      budget: { usd: 1e-6, per: 'total' as const }
    }
    const wanted = (parts: Partial<KeyCall>) =>
      requestOf({ keyId: 'earlier', limits, tokens: 0, nanoUsd: 0, ...parts })
    let last = 0
    const ask = async (parts: Partial<KeyCall>) =>
      await counters.reserve(`now-${++last}`, wanted(parts), () => 220)
    // 220 of 1,000 are spent, also by the usage records, and 300 are reserved.
    t.match((await ask({ nanoUsd: 481 })).decision, { admitted: false, reason: 'budget_reserved' })
    t.match((await ask({ tokens: 600 })).decision, { admitted: false, reason: 'tokens' })
    const { decision } = await ask({ nanoUsd: 480, tokens: 100 })
    t.match(decision, { admitted: true })
    t.match(decision.rateLimits, { requests: { limit: 100, remaining: 97 } })
    t.match(await client.hgetall('headgate:{earlier}:budget:total:0'), {
      spent: '220',
      reserved: '780',
      '000000000000-9-earlier-2': '300',
      'now-3': '480'
    })
    t.equal(await client.zcard('headgate:{earlier}:open'), 2)

    // The earlier gateway ends its call, and a killed one is forgotten.
    const id = '000000000000-9-earlier-2'
    await counters.settle(
      { ...counters.plan(id, wanted({ tokens: 200, nanoUsd: 300 })) },
      { used: { tokens: 200, nanoUsd: 130 } }
    )
    t.match(await client.hgetall('headgate:{earlier}:budget:total:0'), { spent: '350', reserved: '480' })
    counters.forget(['now'])
    t.match((await ask({ nanoUsd: 651 })).decision, { admitted: false, reason: 'budget_too_small' })
    t.match((await ask({ nanoUsd: 650 })).decision, { admitted: true })
  }
)
