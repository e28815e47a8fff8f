import { EventEmitter } from 'node:events'
import t from 'tap'
import { limitStatuses } from '../../lib/limits/key-status.ts'
import { LocalLimiter, type Limiter } from '../../lib/limits/limiter.ts'
import { RedisLimiter } from '../../lib/limits/redis-limiter.ts'
import { answerLimitMessages, WorkerLimiter } from '../../lib/limits/worker-limiter.ts'
import { limitAccountsOf, type Party } from '../../lib/limits/call-accounts.ts'
import { periodAt } from '../../lib/limits/windows.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import type { Test } from 'tap'

const parties: readonly Party[] = [
  {
    kind: 'key',
    id: 'key-1',
    limits: {
      requestsPerMinute: 60,
      tokensPerMinute: 1000,
      concurrentCalls: 3,
      imagesPerDay: 5,
      budgets: [
        { usd: 2, per: 'day' },
        { usd: 9, every: '30d', from: '2026-01-01T00:00:00Z' }
      ]
    }
  },
  {
    kind: 'project',
    id: 'project-1',
    limits: { requestsPerMinute: 100, budget: { usd: 1, per: 'total', unpriced: 'allow' } }
  }
]

/** Compares the reported status with the usage of calls, twice: reading it uses nothing. */
async function saysWhatIsLeft (t: Test, limiter: Limiter): Promise<void> {
  const accounts = limitAccountsOf(parties)
  const decision = await limiter.reserve({
    accounts,
    wanted: { tokens: { max: 400 }, images: { max: 2 }, nanoUsd: { max: 5e8, min: 5e8 } }
  })
  if (!decision.admitted) throw new Error(decision.reason)
  limiter.settle(decision.reservation, { used: { requests: 0, tokens: 100, images: 2, nanoUsd: 25e7 } })
  const open = await limiter.reserve({
    accounts,
    wanted: { tokens: { max: 100 }, nanoUsd: { max: 1e8, min: 1e8 } }
  })
  t.ok(open.admitted)
  const endOf = (budget: Parameters<typeof periodAt>[0]): number =>
    Math.ceil(periodAt(budget, Date.now()).endMs / 1000)
  const [day, days] = [
    endOf({ per: 'day' }),
    endOf({ everyMs: 30 * 86_400_000, fromMs: Date.parse('2026-01-01T00:00:00Z') })
  ]
  for (let look = 0; look < 2; look++) {
    const statuses = await limitStatuses(limiter, parties, false)
    t.match(statuses, [
      { of: 'key', id: 'key-1', name: 'budget', limit: 2, remaining: 1.75, resets_at: day, window: 'day' },
      { of: 'key', name: 'budget', limit: 9, remaining: 8.75, resets_at: days, window: '30d' },
      { of: 'key', name: 'images_per_day', limit: 5, remaining: 3, resets_at: day, window: 'day' },
      { of: 'key', name: 'requests_per_minute', limit: 60, remaining: /^5[89]$/, window: null },
      { of: 'key', name: 'tokens_per_minute', limit: 1000, remaining: /^8\d\d$/, resets_at: Number },
      { of: 'key', name: 'concurrent_calls', limit: 3, remaining: null, resets_at: null },
      {
        of: 'project',
        id: 'project-1',
        name: 'budget',
        limit: 1,
        remaining: 0.75,
        resets_at: null,
        window: 'total'
      },
      { of: 'project', name: 'requests_per_minute', limit: 100, remaining: /^9[89]$/ }
    ])
    const nowSeconds = Date.now() / 1000
    const { resets_at: full } = statuses[3] ?? {}
    t.ok(
      typeof full === 'number' && full > nowSeconds - 1 && full < nowSeconds + 4,
      'the two requests are back in two seconds'
    )
  }
  t.same(
    (await limitStatuses(limiter, parties, true))
      .map(({ name, remaining }) => (name === 'budget' ? remaining : 'seen'))
      .filter(remaining => remaining !== 'seen'),
    [null, null, null],
    'money is hidden from those who see no costs'
  )
  if (open.admitted) limiter.settle(open.reservation, { used: {} })
}

t.test('one process reports what is left', async t => await saysWhatIsLeft(t, new LocalLimiter()))

t.test('a worker reports the counters of its primary', async t => {
  const [primary, worker] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, other: EventEmitter) =>
    Object.assign(own, {
      connected: true,
      send: (message: unknown) => {
        queueMicrotask(() => other.emit('message', structuredClone(message)))
      }
    })
  const [atPrimary, atWorker] = [end(primary, worker), end(worker, primary)]
  answerLimitMessages(atPrimary, new LocalLimiter(), 'worker-1')
  await saysWhatIsLeft(t, new WorkerLimiter(atWorker))
})

t.test(
  'nodes report the counters in Redis, and nothing while it is unavailable',
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const server = await redis.connect(t)
    const limiter = new RedisLimiter(server, { without: () => 'allow', onFailure: error => t.error(error) })
    t.teardown(() => limiter.close())
    await saysWhatIsLeft(t, limiter)
    await redis.kill()
    const statuses = await limitStatuses(limiter, parties, false)
    t.same(
      statuses.map(({ remaining }) => remaining),
      statuses.map(() => null)
    )
  }
)
