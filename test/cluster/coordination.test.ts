/** Three gateways with one PostgreSQL and one Redis: shared limits, shared state, and outages. */

import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { Admin } from '../../lib/accounts/admin.ts'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import {
  chat,
  clusterKey,
  clusterOf,
  countRecords,
  degradedParts,
  nothingLost,
  secondUnderLoad,
  startCallers,
  stopNode,
  type Cluster,
  type Node
} from '../support/cluster.ts'
import { postgresServer } from '../support/postgres-server.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { eventually, until } from '../support/until.ts'
import { chatAnswer, type Script, type SeenRequest } from '../support/upstream.ts'
import { withResolvers } from '../support/with-resolvers.ts'

const skip = noPostgres || noRedis
const keys = {
  RATE_KEY: 'key-of-the-rate',
  CLOCK_KEY: 'key-of-the-clock',
  BUDGET_KEY: 'key-of-the-budget',
  COUNTED_KEY: 'key-of-counted-calls'
}
const clockAhead = join(import.meta.dirname, '../support/clock-ahead.js')
const perMinute = 20
/** Pays for more calls than are made while a gateway starts. */
const budgetNanoUsd = 20_000_000

const config = {
  store: { url: 'env:DATABASE_URL', statement_ms: 1000 },
  // Slow hardware must not make a gateway count alone.
  coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 },
  deferred: { for_all_providers: true },
  keys: [
    { name: 'rate', key: 'env:RATE_KEY', limits: { requests_per_minute: perMinute } },
    { name: 'clock', key: 'env:CLOCK_KEY', limits: { requests_per_minute: perMinute } },
    {
      name: 'budget',
      key: 'env:BUDGET_KEY',
      limits: { budget: { usd: budgetNanoUsd / 1e9, per: 'total' } }
    },
    { name: 'counted', key: 'env:COUNTED_KEY', limits: { concurrent_calls: 1000 } }
  ]
}

/** A refusal because the whole budget is spent or reserved. */
const usedUp = / 402 |is reserved by calls in progress/

/**
 * Calls all nodes at once, and returns how many calls were admitted, and by how many that exceeds the limit
 * plus what was refilled meanwhile.
 */
async function rush (nodes: readonly Node[], key: string): Promise<{ admitted: number, overshoot: number }> {
  const startMs = performance.now()
  const statuses = await Promise.all(
    nodes.flatMap(({ url }, node) =>
      Array.from(
        { length: perMinute },
        async (_, number) => (await chat(url, `${key}-${node}-${number}`, { key })).status
      )
    )
  )
  const admitted = statuses.filter(status => status === 200).length
  return {
    admitted,
    overshoot: Math.max(
      0,
      admitted - perMinute - Math.floor(((performance.now() - startMs) / 60_000) * perMinute)
    )
  }
}

async function kill (node: Node): Promise<void> {
  node.child.kill('SIGKILL')
  await once(node.child, 'close')
}

t.test('three gateways with one PostgreSQL and one Redis', { skip, timeout: 180_000 }, async t => {
  const redis = await startRedis(t)
  const postgres = postgresServer(t)
  const place = await postgresPlace(t, {}, postgres.url)
  const rest = withResolvers<void>()
  t.teardown(() => {
    rest.resolve()
  })
  let waiting = 0
  const script = async ({ text }: SeenRequest): Promise<Script> => {
    if (text.includes('failing')) return { status: 500, pieces: ['{}'] }
    if (text.includes('patience')) {
      waiting++
      await rest.promise
    }
    return { pieces: [chatAnswer('x')] }
  }
  const cluster = await clusterOf(t, { place, config, script, env: { ...keys, REDIS_URL: redis.url } })
  const nodes = (await Promise.all(
    ['one', 'two', 'three'].map(async name => await cluster.start(name))
  )) as [Node, Node, Node]
  const [one, two, three] = nodes

  await t.test(
    'a limit of twenty calls a minute admits exactly twenty under load on all gateways',
    async t => {
      const { admitted, overshoot } = await rush(nodes, keys.RATE_KEY)
      t.ok(admitted >= perMinute, `${admitted} admitted`)
      t.equal(overshoot, 0)
    }
  )

  await t.test('a key revoked at one gateway is refused by all within a second', async t => {
    const database = await openDatabase(place)
    t.teardown(database.close)
    const keys = await openKeyStore(database, [])
    t.teardown(keys.close)
    const { secret } = await new Admin(database, keys).accounts.adminKeys.create({
      name: 'ops',
      role: 'owner',
      createdBy: 'test'
    })
    const { id, key } = await keys.create({ name: 'short-lived' })
    const all = async (wanted: number): Promise<boolean> =>
      (await Promise.all(nodes.map(async ({ url }) => (await chat(url, 'x', { key })).status))).every(
        status => status === wanted
      )
    await until(async () => await all(200), 'the new key')
    const answer = await fetch(`${one.url}/admin/v1/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${secret}` }
    })
    t.equal(answer.status, 200)
    const startMs = performance.now()
    await until(async () => await all(401), 'the revocation')
    t.ok(performance.now() - startMs < secondUnderLoad())
  })

  await t.test('a failure at one gateway is known to the others before they call the provider', async t => {
    const body = { model: 'openai/failing', messages: 'hi' }
    const candidate = async ({ url }: Node): Promise<{ origin?: string } | undefined> => {
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${clusterKey}`,
          'content-type': 'application/json',
          'x-headgate-dry-run': 'true'
        },
        body: JSON.stringify(body)
      })
      return ((await answer.json()) as { candidates: object[] }).candidates[0]
    }
    const listed = async ({ url }: Node): Promise<string | undefined> => {
      const answer = await fetch(`${url}/health`, { headers: { authorization: `Bearer ${clusterKey}` } })
      const { cooldowns = [] } = (await answer.json()) as {
        cooldowns?: Array<{ model?: string, origin: string }>
      }
      return cooldowns.find(({ model }) => model === body.model)?.origin
    }
    // Each failed probe doubles the time that the circuit is open, from five seconds on, so that it outlasts
    // a check of all nodes.
    let calls = 0
    const origins = await eventually(
      async () => {
        await chat(one.url, `failing-${calls++}`, { body })
        return await Promise.all(
          nodes.flatMap(node => [candidate(node).then(found => found?.origin), listed(node)])
        )
      },
      found => !found.includes(undefined),
      'all to know',
      60_000
    )
    t.same(origins, [
      'this_process',
      'this_process',
      'another_process',
      'another_process',
      'another_process',
      'another_process'
    ])
  })

  await t.test(
    'deferred calls that one gateway cannot run start at another, each once',
    async t => {
      const tickets = await Promise.all(
        Array.from({ length: 20 }, async (_, number) =>
          String(
            (await chat(one.url, `waiting-${number}`, { body: { deferred: true, messages: 'patience' } }))
              .body['request_id']
          )
        )
      )
      await until(() => waiting === 20, 'all to be at the provider')
      rest.resolve()
      const statuses = async (): Promise<number[]> =>
        await Promise.all(
          tickets.map(
            async id =>
              (
                await fetch(`${three.url}/v1/chat/deferred-completion/${id}`, {
                  headers: { authorization: `Bearer ${clusterKey}` }
                })
              ).status
          )
        )
      await until(async () => (await statuses()).every(status => status === 200), 'all answers')
      t.equal(waiting, 20)
    }
  )

  await t.test('a gateway whose clock is five minutes ahead shares the limits', async t => {
    const ahead = await cluster.start('ahead', 0, {
      before: ['--import', clockAhead],
      env: { HEADGATE_TEST_CLOCK_AHEAD_MS: '300000' }
    })
    const { admitted, overshoot } = await rush([one, ahead], keys.CLOCK_KEY)
    t.ok(admitted >= perMinute, `${admitted} admitted`)
    t.equal(overshoot, 0)
    await stopNode(ahead)
    const database = await openDatabase(place)
    t.teardown(database.close)
    const { last } = await database.query
      .selectFrom('usage')
      .select(({ fn }) => fn.max('at_ms').as('last'))
      .executeTakeFirstOrThrow()
    t.ok((last ?? 0) > Date.now() + 200_000, 'its records have the time of its own clock')
  })

  await t.test('a shared budget is used up but not exceeded, also when a gateway is killed', async t => {
    let next = 0
    const live = [...nodes]
    const callers = startCallers(t, () => live[next++ % live.length]?.url, {
      parallel: 12,
      key: keys.BUDGET_KEY,
      body: { max_completion_tokens: 4 }
    })
    await until(() => callers.succeeded.length > 100, 'calls', 20_000)
    live.splice(1, 1)
    await kill(two)
    nodes[1] = await cluster.start('two')
    live.push(nodes[1])
    await until(
      () => callers.failures.filter(failure => failure.includes(' 402 ')).length > 20,
      'the budget to be used up',
      30_000
    )
    await callers.stop()
    const database = await openDatabase(place)
    t.teardown(database.close)
    const spent = async (): Promise<number> => {
      const rows = await database.query
        .selectFrom('usage')
        .select('cost_nano_usd')
        .where('key_id', '=', 'configured:budget')
        .execute()
      return rows.reduce((sum, { cost_nano_usd: cost }) => sum + (cost ?? 0), 0)
    }
    // The last calls need more than what is left.
    await until(async () => (await spent()) > budgetNanoUsd - 60_000, 'all records', 10_000)
    t.comment(`${callers.succeeded.length} succeeded, ${await spent()} of ${budgetNanoUsd} spent`)
    t.ok((await spent()) <= budgetNanoUsd)
    const failed = callers.failures.filter(failure => !usedUp.test(failure))
    t.ok(
      failed.every(failure => /socket|ECONN|closed/.test(failure)),
      `no call failed but the ${failed.length} of the one that was killed`
    )
  })

  await t.test(
    'Redis and then PostgreSQL are killed under load: no call fails, and no record is lost or duplicated',
    async t => {
      let next = 0
      const callers = startCallers(t, () => nodes[next++ % 3]?.url, { key: keys.COUNTED_KEY })
      const more = async (what: string): Promise<void> => {
        const before = callers.succeeded.length
        await until(() => callers.succeeded.length > before + 100, what, 20_000)
      }
      const degraded = async (part: string, wanted: boolean): Promise<void> => {
        await until(
          async () =>
            (await Promise.all(nodes.map(degradedParts))).every(parts => parts.includes(part) === wanted),
          `${part} to be ${wanted ? 'away' : 'back'}`,
          30_000
        )
      }
      await more('calls')
      await redis.kill()
      await degraded('coordination', true)
      await more('calls without Redis')
      await postgres.kill()
      await degraded('store', true)
      await more('calls without either')
      postgres.restart()
      await redis.restart()
      for (const part of ['coordination', 'store', 'ledger', 'keys']) await degraded(part, false)
      await more('calls with both')
      await callers.stop()
      await Promise.all(nodes.map(stopNode))
      const database = await openDatabase(place)
      t.teardown(database.close)
      t.comment(`${callers.succeeded.length} succeeded`)
      t.strictSame(callers.failures, [])
      t.strictSame(await countRecords(database, callers.succeeded, 'configured:counted'), nothingLost)
    }
  )
})

t.test('two gateways with shared limits', { skip, timeout: 120_000 }, async t => {
  const redis = await startRedis(t)
  const place = await postgresPlace(t)
  const dollar = 1e9
  // The hour of the budget ends long after the test.
  const from = `${new Date(Date.now() - 60_000).toISOString().slice(0, 19)}Z`
  let isHanging = false
  let hanging = 0
  const hangsUp = withResolvers<void>()
  t.teardown(() => {
    hangsUp.resolve()
  })
  const script = async (): Promise<Script> => {
    if (isHanging) {
      hanging++
      await hangsUp.promise
    }
    return { pieces: [chatAnswer('x')] }
  }
  const cluster = await clusterOf(t, {
    place,
    script,
    config: {
      coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 },
      models: { 'openai/gpt-5': { price: { input: 40, output: 400 } } },
      keys: [
        { name: 'dollar', key: 'env:DOLLAR_KEY', limits: { budget: { usd: 1, every: '1h', from } } },
        { name: 'place', key: 'env:PLACE_KEY', limits: { concurrent_calls: 1 } },
        { name: 'little', key: 'env:LITTLE_KEY', limits: { budget: { usd: 0.003, per: 'total' } } }
      ]
    },
    env: {
      REDIS_URL: redis.url,
      DOLLAR_KEY: 'key-of-one-dollar',
      PLACE_KEY: 'key-of-one-place',
      LITTLE_KEY: 'key-of-little-money'
    }
  })
  const nodes = (await Promise.all(['one', 'two'].map(async name => await cluster.start(name)))) as [
    Node,
    Node
  ]
  const spent = async (key: string): Promise<number> => {
    const database = await openDatabase(place)
    try {
      const rows = await database.query
        .selectFrom('usage')
        .select('cost_nano_usd')
        .where('key_id', '=', key)
        .execute()
      return rows.reduce((sum, { cost_nano_usd: cost }) => sum + (cost ?? 0), 0)
    } finally {
      await database.close()
    }
  }

  await t.test(
    '250 callers spend a budget of a dollar an hour to the last affordable call, and no more',
    async t => {
      let next = 0
      const callers = startCallers(t, () => nodes[next++ % 2]?.url, {
        parallel: 250,
        key: 'key-of-one-dollar',
        body: { max_completion_tokens: 4 }
      })
      await until(
        () => callers.failures.filter(failure => failure.includes(' 402 ')).length > 20,
        'the dollar to be spent',
        180_000
      )
      await callers.stop()
      await until(async () => (await spent('configured:dollar')) > dollar - 2_400_000, 'all records', 10_000)
      t.comment(`${callers.succeeded.length} succeeded, ${await spent('configured:dollar')} spent`)
      t.ok((await spent('configured:dollar')) <= dollar)
      t.same(
        callers.failures.filter(failure => !usedUp.test(failure)),
        []
      )
    }
  )

  await t.test(
    'reservations of a killed gateway are released within five seconds of its next start',
    async t => {
      const ask = async (node: Node, key: string): Promise<number> =>
        (await chat(node.url, 'x', { key, body: { max_completion_tokens: 4 } })).status
      const all = ['key-of-one-place', 'key-of-little-money']
      isHanging = true
      const cut = all.map(async key => await ask(nodes[0], key).catch(() => 0))
      await until(() => hanging === 2, 'both calls to be at the provider')
      isHanging = false
      t.same(await Promise.all(all.map(async key => await ask(nodes[1], key))), [429, 429])
      await kill(nodes[0])
      t.same(await Promise.all(cut), [0, 0])
      nodes[0] = await cluster.start('one')
      const startMs = performance.now()
      // All that the call had reserved is charged to the budget, which leaves too little for another call.
      for (const [key, wanted] of [
        ['key-of-one-place', 200],
        ['key-of-little-money', 402]
      ] as const) {
        await until(async () => (await ask(nodes[1], key)) === wanted, `${wanted} for ${key}`, 30_000)
      }
      const tookMs = performance.now() - startMs
      t.ok(tookMs < 5 * secondUnderLoad(), `${Math.round(tookMs)} ms`)
      t.equal(await spent('configured:little'), 2_400_000)
    }
  )
})

t.test(
  'a network that hangs, to Redis and then to PostgreSQL, fails no call',
  { skip, timeout: 90_000 },
  async t => {
    const redis = await startRedis(t)
    const postgres = postgresServer(t)
    const place = await postgresPlace(t, {}, postgres.url)
    const cluster: Cluster = await clusterOf(t, {
      place,
      config: { ...config, coordination: { ...config.coordination, timeout_ms: 500 } },
      env: keys
    })
    const url = new URL(place.store.url?.reveal() ?? '')
    const [toRedis, toPostgres] = await Promise.all([
      startStallingProxy(t, redis.port),
      startStallingProxy(t, Number(url.port))
    ])
    url.port = String(toPostgres.port)
    const node = await cluster.start('one', 0, {
      env: { REDIS_URL: `redis://127.0.0.1:${toRedis.port}`, DATABASE_URL: url.href }
    })
    const callers = startCallers(t, () => node.url, { key: keys.COUNTED_KEY })
    for (const [proxy, part] of [
      [toRedis, 'coordination'],
      [toPostgres, 'store']
    ] as const) {
      const before = callers.succeeded.length
      await until(() => callers.succeeded.length > before + 50, 'calls', 20_000)
      proxy.stall()
      await until(async () => (await degradedParts(node)).includes(part), `${part} to be unreachable`, 20_000)
      const during = callers.succeeded.length
      await until(() => callers.succeeded.length > during + 50, 'calls meanwhile', 20_000)
      proxy.resume()
      await until(async () => (await degradedParts(node)).length === 0, 'all to be well', 30_000)
    }
    await callers.stop()
    await stopNode(node)
    const database = await openDatabase(place)
    t.teardown(database.close)
    t.comment(`${callers.succeeded.length} succeeded`)
    t.strictSame(callers.failures, [])
    t.strictSame(await countRecords(database, callers.succeeded, 'configured:counted'), nothingLost)
  }
)
