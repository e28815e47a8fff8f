import { Redis } from 'ioredis'
import t from 'tap'
import { recordedAfterMs } from '../../lib/usage/refunds.ts'
import { RedisCounters } from '../../lib/limits/redis-counters.ts'
import { processName } from '../../lib/async/process-name.ts'
import { RedisLimiter, type RedisLimiterOptions } from '../../lib/limits/redis-limiter.ts'
import { connectTo, noRedis, startRedis, type TestRedis } from '../support/redis.ts'
import { KeyLimiter, reasonOf, requestOf, type KeyCall, type KeyDecision } from '../support/limits.ts'
import { eventually, until } from '../support/until.ts'
import type { RedisServer } from '../../lib/coordination/redis-server.ts'
import type { Test } from 'tap'

const call: KeyCall = { keyId: 'key-1', limits: {}, tokens: 0, nanoUsd: 0 }

interface Node {
  readonly server: RedisServer
  readonly limiter: KeyLimiter<RedisLimiter>
}

async function nodesOf (
  t: Test,
  redis: TestRedis,
  count: number,
  { timeoutMs = 5000, ...options }: Partial<RedisLimiterOptions> & { readonly timeoutMs?: number } = {}
): Promise<[Node, Node, ...Node[]]> {
  const nodes = await Promise.all(
    Array.from({ length: count }, async (): Promise<Node> => {
      const server = await redis.connect(t, { timeoutMs })
      const limiter = new RedisLimiter(server, {
        without: () => 'share',
        onFailure: error => t.error(error),
        rereadMs: 0,
        ...options
      })
      t.teardown(() => limiter.close())
      return { server, limiter: new KeyLimiter(limiter) }
    })
  )
  await until(() => nodes.every(({ server }) => server.processes === count), 'all nodes to know each other')
  return nodes as [Node, Node, ...Node[]] // `count` is at least 2
}

/** Makes concurrent calls on all nodes. */
async function rush (nodes: readonly Node[], each: number, wanted: KeyCall): Promise<KeyDecision[]> {
  return await Promise.all(
    nodes.flatMap(({ limiter }) => Array.from({ length: each }, async () => await limiter.reserve(wanted)))
  )
}

const admitted = (decisions: readonly KeyDecision[]): number =>
  decisions.filter(({ admitted }) => admitted).length

async function away (redis: TestRedis, nodes: readonly Node[]): Promise<void> {
  await redis.kill()
  await until(() => nodes.every(({ server }) => !server.isUp), 'Redis to be unreachable')
}

async function back (redis: TestRedis, nodes: readonly Node[]): Promise<void> {
  await redis.restart()
  await until(() => nodes.every(({ server }) => server.isUp), 'Redis to be back')
  // What each node restores is in Redis once a later command on its connection has a reply.
  await Promise.all(nodes.map(async ({ server }) => await server.scored('any', 0)))
}

t.test('limits counted across nodes', { skip: noRedis }, async t => {
  const redis = await startRedis(t)

  await t.test('each limit admits exactly its number of calls across all nodes', async t => {
    const nodes = await nodesOf(t, redis, 3)
    t.equal(admitted(await rush(nodes, 40, { ...call, limits: { concurrentCalls: 25 } })), 25)
    t.equal(
      admitted(await rush(nodes, 40, { ...call, keyId: 'requests', limits: { requestsPerMinute: 20 } })),
      20
    )
    t.equal(
      admitted(
        await rush(nodes, 40, { ...call, keyId: 'tokens', limits: { tokensPerMinute: 70 }, tokens: 3 })
      ),
      23
    )
  })

  await t.test('a budget is never exceeded and can be spent completely', async t => {
    const nodes = await nodesOf(t, redis, 2)
    const wanted: KeyCall = {
      ...call,
      keyId: 'budget',
      limits: { budget: { usd: 1e-6, per: 'month' } },
      nanoUsd: 9,
      minNanoUsd: 1
    }
    let spent = 0
    const spend = async ({ limiter }: Node): Promise<void> => {
      for (let refused = 0; refused < 5;) {
        const decision = await limiter.reserve(wanted)
        if (!decision.admitted) refused++
        else {
          const { nanoUsd = NaN } = decision
          spent += nanoUsd
          limiter.settle(decision.reservation, { tokens: 0, nanoUsd })
        }
      }
    }
    await Promise.all([...nodes, ...nodes, ...nodes].map(spend))
    t.equal(spent, 1000)
  })

  await t.test('a refund is not applied again once the ledger has it', async t => {
    const clock = { ms: 0 }
    let recorded = 0
    const [{ limiter }, other] = await nodesOf(t, redis, 2, {
      readUsed: async () => recorded,
      now: () => clock.ms
    })
    const wanted: KeyCall = { ...call, keyId: 'refunded', limits: { budget: { usd: 1e-7, per: 'total' } } }
    const receipt = await limiter.reserve({ ...wanted, nanoUsd: 90 })
    if (!receipt.admitted) return t.fail('it was refused')
    limiter.settle(receipt.reservation, { tokens: 0, nanoUsd: 90 })
    await limiter.limiter.settleRecorded([]) // waits for the settlement: a row is stored after it
    recorded = 90
    t.equal(
      reasonOf(await other.limiter.reserve({ ...wanted, nanoUsd: 20 })),
      'budget_too_small',
      'another one knows it'
    )
    const fetched = await limiter.reserve({ ...wanted, purpose: 'count' })
    if (!fetched.admitted) return t.fail('it was refused')
    limiter.settle(fetched.reservation, { tokens: 0, nanoUsd: -85 })
    // They have separate connections: the settlement of one may reach Redis after the request of the other.
    await eventually(
      async () => reasonOf(await other.limiter.reserve({ ...wanted, nanoUsd: 20 })),
      reason => reason === 'admitted',
      'room before it is recorded'
    )
    recorded = 5
    clock.ms += recordedAfterMs
    const client = new Redis(redis.url)
    t.teardown(() => { client.disconnect() })
    const [budget = ''] = await client.keys('*refunded*:budget:*')
    await client.hset(budget, 'refunds_at', 1) // long ago
    for (const node of [{ limiter }, other]) {
      t.equal(reasonOf(await node.limiter.reserve({ ...wanted, nanoUsd: 20 })), 'admitted', 'after that')
    }
  })

  await t.test(
    "a killed process's reservations are released once its usage records are stored, and its cost counts",
    async t => {
      let isStored = false
      let recorded = 0
      const killed = processName().replace(String(process.pid), '4194303')
      const isGone = (name: string): boolean => name === killed && isStored
      const server = await connectTo(t, redis.url, { isGone })
      // Another node cannot see that it has exited, as it is on another machine.
      const elsewhere = await redis.connect(t)
      const limiters = [server, elsewhere].map(
        at =>
          new RedisLimiter(at, {
            without: () => 'share',
            onFailure: error => t.error(error),
            readUsed: async () => recorded
          })
      )
      t.teardown(() => {
        for (const limiter of limiters) limiter.close()
      })
      const wanted: KeyCall = {
        ...call,
        keyId: 'killed',
        limits: { concurrentCalls: 2, budget: { usd: 1e-6, per: 'day' } },
        nanoUsd: 600
      }
      const counters = new RedisCounters(server)
      t.match(await counters.reserve(`${killed}-1`, requestOf(wanted)), { decision: { admitted: true } })
      const client = new Redis(redis.url)
      t.teardown(() => client.disconnect())
      await client.zadd('headgate:processes', server.now(), killed)
      const reasons = async (): Promise<string[]> =>
        await Promise.all(limiters.map(async limiter => reasonOf(await limiter.reserve(requestOf(wanted)))))
      t.same(await reasons(), ['budget_reserved', 'budget_reserved'])
      recorded = 500
      isStored = true
      await until(
        async () => (await reasons()).every(reason => reason === 'budget_too_small'),
        'both to know that 500 of 1,000 are spent and nothing is reserved'
      )
      t.match(
        await Promise.all(
          [1, 2].map(async () => await limiters[0]?.reserve(requestOf({ ...wanted, nanoUsd: 100 })))
        ),
        [{ admitted: true }, { admitted: true }],
        'both places are free'
      )
      t.equal(await client.zscore('headgate:processes', killed), null)
    }
  )

  await t.test(
    'the usage of a killed process counts in addition to unrecorded usage of others',
    async t => {
      let recorded = 0
      const [{ limiter }, other] = await nodesOf(t, redis, 2, { readUsed: async () => recorded })
      const wanted: KeyCall = {
        ...call,
        keyId: 'recorded',
        limits: { concurrentCalls: 9, budget: { usd: 1e-6, per: 'total' } }
      }
      const live = await limiter.reserve({ ...wanted, nanoUsd: 300 })
      const killed = new RedisLimiter(await redis.connect(t), {
        without: () => 'share',
        onFailure: error => t.error(error)
      })
      const rowIds = ['AAAA-AAAA_AA-1z', 'AAAA-AAAA_AA-20']
      for (const rowId of rowIds) {
        t.match(await killed.reserve({ ...requestOf({ ...wanted, nanoUsd: 200 }), rowId }), {
          admitted: true
        })
      }
      killed.close()
      if (live.admitted) limiter.settle(live.reservation, { tokens: 0, nanoUsd: 300 })
      const { accounts } = requestOf(wanted)
      const usages = [
        [rowIds[0] ?? '', 50],
        [rowIds[1] ?? '', 200],
        ['AAAA-AAAA_AA-3', 9]
      ] as const
      for (let time = 0; time < 2; time++) {
        await other.limiter.limiter.settleRecorded(
          usages.map(([id, nanoUsd]) => ({ accounts, row: { id, atMs: Date.now() }, used: { nanoUsd } }))
        )
      }
      recorded = 250 // of the killed process: the other record comes half a second later
      t.equal(
        reasonOf(await limiter.reserve({ ...wanted, nanoUsd: 451 })),
        'budget_too_small',
        '300, 50 and 200 of 1,000 are used'
      )
      t.equal(reasonOf(await limiter.reserve({ ...wanted, nanoUsd: 450 })), 'admitted')
    }
  )

  await t.test('settled usage counts before its records are stored, or is known to be lost', async t => {
    const [{ limiter, server }, other] = await nodesOf(t, redis, 2)
    const wanted: KeyCall = {
      ...call,
      keyId: 'settled',
      limits: { budget: { usd: 1e-6, per: 'total' } },
      nanoUsd: 600
    }
    for (let time = 0; time < 20; time++) {
      const { reservation } = await limiter.reserve(wanted) as { reservation: number }
      limiter.settle(reservation, { tokens: 0, nanoUsd: 1 })
      await limiter.limiter.settleRecorded([])
      const next = await other.limiter.reserve(wanted)
      if (!next.admitted) return t.fail('it is still reserved')
      other.limiter.settle(next.reservation, { tokens: 0, nanoUsd: 0 })
      await other.limiter.limiter.settleRecorded([])
    }
    const { reservation } = await limiter.reserve(wanted) as { reservation: number }
    redis.process().kill('SIGSTOP')
    limiter.settle(reservation, { tokens: 0, nanoUsd: 1 })
    await limiter.limiter.settleRecorded([])
    t.equal(server.isUp, false)
    redis.process().kill('SIGCONT')
  })

  await t.test('an ended call makes room on every node', async t => {
    const [one, two] = await nodesOf(t, redis, 2)
    const wanted = { ...call, keyId: 'room', limits: { concurrentCalls: 1 } }
    const first = await one.limiter.reserve(wanted)
    t.equal(reasonOf(await two.limiter.reserve(wanted)), 'concurrent_calls')
    if (first.admitted) one.limiter.settle(first.reservation, { tokens: 0, nanoUsd: 0 })
    await until(async () => (await two.limiter.reserve(wanted)).admitted, 'room')
  })

  await t.test('calls without limits do not wait for Redis', async t => {
    const [{ limiter }] = await nodesOf(t, redis, 2)
    redis.process().kill('SIGSTOP')
    try {
      t.match(await limiter.reserve({ ...call, limits: { strict: true } }), {
        admitted: true,
        rateLimits: {}
      })
    } finally {
      redis.process().kill('SIGCONT')
    }
  })
})

t.test('while Redis is unavailable', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const timeoutMs = 1000 // a stalled Redis is waited for

  await t.test('each node admits its share, and open calls count again when Redis is back', async t => {
    const nodes = await nodesOf(t, redis, 2, { timeoutMs })
    const limits = { concurrentCalls: 11, budget: { usd: 1e-6, per: 'total' as const } }
    const wanted: KeyCall = { ...call, keyId: 'share', limits, nanoUsd: 100 }
    const before = await rush(nodes, 1, wanted)
    t.equal(admitted(before), 2)
    await away(redis, nodes)
    const meanwhile = await rush(nodes, 20, wanted)
    // 200 of 1,000 are reserved: each node gets half of the remainder, less its own reservations.
    t.equal(admitted(meanwhile), 2 * 4)
    t.same(new Set(meanwhile.map(reasonOf)), new Set(['admitted', 'budget_reserved']))
    t.ok(nodes.every(({ limiter }) => limiter.limiter.decidedAlone === 20))
    await back(redis, nodes)
    const after = await rush(nodes, 20, wanted)
    t.equal(admitted(after), 0, 'all of 1,000 is reserved')
    const small = await rush(nodes, 20, { ...wanted, nanoUsd: 0 })
    t.equal(admitted(small), 1, 'ten calls were open')
  })

  await t.test('a call that ended meanwhile counts once, with its usage record', async t => {
    let recorded = 0
    const readUsed = async (): Promise<number> => recorded
    const nodes = await nodesOf(t, redis, 2, { timeoutMs, readUsed, recordedAfterMs: 500 })
    const [{ limiter }] = nodes
    const wanted: KeyCall = {
      ...call,
      keyId: 'ended',
      limits: { concurrentCalls: 1, budget: { usd: 1e-6, per: 'total' } },
      nanoUsd: 600
    }
    const open = await limiter.reserve(wanted)
    redis.process().kill('SIGSTOP') // its own reservation remains
    await until(() => nodes.every(({ server }) => !server.isUp), 'Redis to be unreachable')
    recorded = 500
    if (open.admitted) limiter.settle(open.reservation, { tokens: 0, nanoUsd: 500 })
    redis.process().kill('SIGCONT')
    await until(() => nodes.every(({ server }) => server.isUp), 'Redis to be back')
    await until(
      async () => (await limiter.reserve({ ...wanted, nanoUsd: 500 })).admitted,
      'what it had reserved to be released'
    )
    t.match(
      await limiter.reserve({ ...wanted, limits: { budget: { usd: 1e-6, per: 'total' } }, nanoUsd: 1 }),
      { reason: 'budget_reserved' }
    )
  })

  for (const [what, stop, resume] of [
    [
      'that keeps its data',
      async (nodes: readonly Node[]) => {
        redis.process().kill('SIGSTOP')
        await until(() => nodes.every(({ server }) => !server.isUp), 'Redis to be unreachable')
      },
      async (nodes: readonly Node[]) => {
        redis.process().kill('SIGCONT')
        await until(() => nodes.every(({ server }) => server.isUp), 'Redis to be back')
      }
    ],
    [
      'that loses its data',
      async (nodes: readonly Node[]) => await away(redis, nodes),
      async (nodes: readonly Node[]) => await back(redis, nodes)
    ]
  ] as const) {
    await t.test(
      `calls that ended during a Redis ${what} stay reserved until recorded, and count once`,
      async t => {
        let recorded = 0
        const clock = { ms: 0 }
        const nodes = await nodesOf(t, redis, 2, {
          timeoutMs,
          readUsed: async () => recorded,
          recordedAfterMs: 1000,
          now: () => clock.ms
        })
        const [one, two] = nodes
        const limits = { budget: { usd: 1e-6, per: 'total' as const } }
        const wanted: KeyCall = { ...call, keyId: `late ${what}`, limits }
        const ended = await one.limiter.reserve({ ...wanted, nanoUsd: 400 })
        const open = await two.limiter.reserve({ ...wanted, nanoUsd: 300 })
        await stop(nodes)
        if (ended.admitted) one.limiter.settle(ended.reservation, { tokens: 0, nanoUsd: 250 })
        const alone = await two.limiter.reserve({ ...wanted, nanoUsd: 100 })
        if (alone.admitted) two.limiter.settle(alone.reservation, { tokens: 0, nanoUsd: 60 })
        await resume(nodes)
        const small = { ...wanted, limits: { ...limits, concurrentCalls: 2 } }
        t.equal(reasonOf(await one.limiter.reserve({ ...small, nanoUsd: 201 })), 'budget_reserved')
        const last = await one.limiter.reserve({ ...small, nanoUsd: 200 })
        t.equal(reasonOf(last), 'admitted', 'one call is open')
        if (last.admitted) one.limiter.settle(last.reservation, { tokens: 0, nanoUsd: 0 })
        recorded = 310
        clock.ms += 1000
        await until(
          async () => {
            const decision = await two.limiter.reserve({ ...wanted, nanoUsd: 390 })
            if (decision.admitted) two.limiter.settle(decision.reservation, { tokens: 0, nanoUsd: 0 })
            return decision.admitted
          },
          'what was reserved to be released'
        )
        t.equal(reasonOf(await one.limiter.reserve({ ...wanted, nanoUsd: 391 })), 'budget_reserved')
        if (open.admitted) two.limiter.settle(open.reservation, { tokens: 0, nanoUsd: 300 })
        recorded = 610
        t.equal(reasonOf(await one.limiter.reserve({ ...wanted, nanoUsd: 391 })), 'budget_too_small')
        t.equal(reasonOf(await two.limiter.reserve({ ...wanted, nanoUsd: 390 })), 'admitted')
      }
    )
  }

  await t.test('a settlement whose reply was lost counts once', async t => {
    let recorded = 0
    const nodes = await nodesOf(t, redis, 2, { timeoutMs, readUsed: async () => recorded })
    const [one, two] = nodes
    const limits = { budget: { usd: 1e-6, per: 'total' as const } }
    const wanted: KeyCall = { ...call, keyId: 'unheard', limits }
    const ended = await one.limiter.reserve({ ...wanted, nanoUsd: 400 })
    redis.process().kill('SIGSTOP')
    if (ended.admitted) one.limiter.settle(ended.reservation, { tokens: 0, nanoUsd: 250 })
    await until(() => nodes.every(({ server }) => !server.isUp), 'Redis to be unreachable')
    redis.process().kill('SIGCONT')
    await until(() => nodes.every(({ server }) => server.isUp), 'Redis to be back')
    t.equal(reasonOf(await two.limiter.reserve({ ...wanted, nanoUsd: 751 })), 'budget_too_small')
    recorded = 250
    t.equal(reasonOf(await two.limiter.reserve({ ...wanted, nanoUsd: 751 })), 'budget_too_small')
    t.equal(reasonOf(await one.limiter.reserve({ ...wanted, nanoUsd: 750 })), 'admitted')
  })

  await t.test('a reservation whose reply was lost is removed', async t => {
    const nodes = await nodesOf(t, redis, 2, { timeoutMs })
    const [one, two] = nodes
    const wanted: KeyCall = {
      ...call,
      keyId: 'lost',
      limits: { concurrentCalls: 1, budget: { usd: 1e-6, per: 'total' } },
      nanoUsd: 1000
    }
    redis.process().kill('SIGSTOP')
    const alone = await one.limiter.reserve({ ...wanted, nanoUsd: 500 })
    t.ok(alone.admitted, 'it has its share')
    redis.process().kill('SIGCONT') // earlier commands are done now
    await until(() => nodes.every(({ server }) => server.isUp), 'Redis to be back')
    t.not(reasonOf(await two.limiter.reserve(wanted)), 'admitted', 'the call is open')
    if (alone.admitted) one.limiter.settle(alone.reservation, { tokens: 0, nanoUsd: 0 })
    await until(async () => (await two.limiter.reserve(wanted)).admitted, 'all of the budget')
  })

  await t.test('calls are refused or admitted as configured', async t => {
    let without: 'allow' | 'refuse' = 'refuse'
    const nodes = await nodesOf(t, redis, 2, { timeoutMs, without: () => without })
    await away(redis, nodes)
    const wanted = { ...call, keyId: 'other', limits: { requestsPerMinute: 1 } }
    await t.rejects(rush(nodes, 1, wanted), { code: 'overloaded' })
    t.equal(admitted(await rush(nodes, 1, { ...wanted, purpose: 'count' })), 2)
    without = 'allow'
    t.equal(admitted(await rush(nodes, 5, wanted)), 10)
    await back(redis, nodes)
    t.equal(admitted(await rush(nodes, 5, wanted)), 1)
  })
})
