import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { perUnitOf } from '../../schemas/billed-units.ts'
import { PartyLimitsConfig } from '../../schemas/config/keys.ts'
import { LimitStatus } from '../../schemas/key-status.ts'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { limitStatuses } from '../../lib/limits/key-status.ts'
import { LocalLimiter, readUsedFrom, type Limiter } from '../../lib/limits/limiter.ts'
import { RedisLimiter } from '../../lib/limits/redis-limiter.ts'
import { answerLimitMessages, WorkerLimiter } from '../../lib/limits/worker-limiter.ts'
import { isSqlite } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { directoryOf, launch } from '../support/headgate.ts'
import { connectTo, noRedis, startRedis } from '../support/redis.ts'
import { limitFields, refusals } from '../../lib/limits/limit-table.ts'
import { usageRowOf } from '../support/usage.ts'

t.test('each limit has a distinct name in each place', async t => {
  t.same(limitFields.map(({ name, property }) => [name, property]).slice(0, 3), [
    ['requests_per_minute', 'requestsPerMinute'],
    ['tokens_per_minute', 'tokensPerMinute'],
    ['concurrent_calls', 'concurrentCalls']
  ])
  t.equal(new Set(refusals).size, refusals.length)
})

/**
 * Uses up each limit and reads its remainder.
 * @returns the limit that refused the second call
 */
async function refusedBy (limiter: Limiter): Promise<unknown> {
  return await Promise.all(limitFields.map(async ({ name, property, row: { unit } }) => {
    const parties = [{ kind: 'key', id: `key-${name}`, limits: { [property]: 1 } }] as const
    const request = { accounts: limitAccountsOf(parties), wanted: { [unit]: { max: perUnitOf(unit) } } }
    const first = await limiter.reserve(request)
    const second = await limiter.reserve(request)
    const [status] = await limitStatuses(limiter, parties, false)
    return [status?.name, first.admitted, second.admitted ? 'admitted' : second.reason]
  }))
}

const expected = limitFields.map(({ name, row }) => [
  name, true, row.counting === 'sum' ? `${row.refusal}_reserved` : row.refusal
])

t.test('each limit is counted, refused and reported in one process and by workers', async t => {
  t.same(await refusedBy(new LocalLimiter()), expected)
  const [primary, worker] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, other: EventEmitter) => Object.assign(own, {
    connected: true,
    send: (message: unknown) => {
      queueMicrotask(() => other.emit('message', structuredClone(message)))
    }
  })
  const [atPrimary, atWorker] = [end(primary, worker), end(worker, primary)]
  answerLimitMessages(atPrimary, new LocalLimiter(), 'worker-1')
  t.same(await refusedBy(new WorkerLimiter(atWorker)), expected)
})

t.test('each limit is counted, refused and reported with Redis', { skip: noRedis }, async t => {
  const { url } = await startRedis(t)
  const limiter = new RedisLimiter(await connectTo(t, url, { timeoutMs: 5000 }), {
    without: () => 'refuse', onFailure: error => t.error(error)
  })
  t.teardown(() => limiter.close())
  t.same(await refusedBy(limiter), expected)
})

t.test('each sum counts stored records and the reservations of another gateway on the store', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  if (!isSqlite(database)) throw new Error('another store')
  const start = (): LocalLimiter => {
    const limiter = new LocalLimiter({
      shared: database, readUsed: readUsedFrom(database), beatMs: 20, onFailure: error => t.error(error)
    })
    t.teardown(() => limiter.close())
    return limiter
  }
  for (const [place, { name, property, row }] of limitFields.entries()) {
    if (row.counting !== 'sum') continue
    const { unit, refusal } = row
    const each = perUnitOf(unit)
    await database.insertUsage([usageRowOf(place, { at_ms: Date.now(), key_id: name, [unit]: each })])
    const accounts = limitAccountsOf([{ kind: 'key', id: name, limits: { [property]: 3 } }])
    const [one, other] = [start(), start()]
    const take = async (limiter: LocalLimiter, amount: number): Promise<unknown> => (
      await limiter.reserve({ accounts, wanted: { [unit]: { max: amount * each } } })
    )
    t.match(await take(one, 3), { admitted: false, reason: `${refusal}_too_small` }, 'one is recorded')
    t.match(await take(one, 1), { admitted: true })
    t.match(await take(other, 2), { admitted: false, reason: `${refusal}_reserved` }, 'one is held there')
    t.match(await take(other, 1), { admitted: true })
  }
})

t.test('each limit is in the configuration, the admin API, metrics, the command line and docs', async t => {
  const help = await launch(t, ['keys', '--help'], directoryOf(t)).ended
  const page = readFileSync(join(import.meta.dirname, '../../../docs/limits.md'), 'utf8')
  const statusNames = JSON.stringify(LimitStatus.properties.name)
  for (const { name, row } of limitFields) {
    t.ok(name in PartyLimitsConfig.properties, `${name} in the configuration`)
    t.ok(name in PartyLimitsConfig.properties, `${name} in the admin API`)
    t.match(statusNames, `"${name}"`, 'GET /v1/key')
    t.ok(refusals.some(refusal => refusal === row.refusal), `${name} in metrics`)
    t.match(help.out, `--${name.replaceAll('_', '-')} N`)
    t.match(page, `${name}: `)
  }
})
