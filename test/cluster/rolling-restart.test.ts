import { Redis } from 'ioredis'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { freePort } from '../support/free-port.ts'
import { clusterOf, startCallers, stopNode } from '../support/cluster.ts'
import { noNginx, startNginx } from '../support/nginx.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { until } from '../support/until.ts'

const limitedKey = 'key-with-limits'

t.test(
  'gateways behind a load balancer restart one after the other, and no call fails',
  { skip: noPostgres || noRedis || noNginx, timeout: 90_000 },
  async t => {
    const [place, redis] = [await postgresPlace(t), await startRedis(t)]
    const cluster = await clusterOf(t, {
      place,
      config: {
        server: { shutdown_delay_ms: 1000, accepted_hosts: ['*'] },
        // slow hardware must not make a gateway count alone
        coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 },
        keys: [
          {
            name: 'limited',
            key: 'env:LIMITED_KEY',
            limits: { concurrent_calls: 100, budget: { usd: 1000, per: 'total' } }
          }
        ]
      },
      env: { REDIS_URL: redis.url, LIMITED_KEY: limitedKey }
    })
    const ports = [await freePort(), await freePort()] as const
    const nodes = await Promise.all(
      ports.map(async (port, number) => await cluster.start(`node-${number}`, port))
    )
    const { url } = await startNginx(t, ports)
    // Some keep their connections between calls, as SDKs do, and some open one per call.
    const kept = startCallers(t, () => url, { key: limitedKey })
    const own = startCallers(t, () => url, { keepAlive: false, key: limitedKey, name: 'own' })
    const moreCalls = async (): Promise<void> => {
      const before = [kept, own].map(({ succeeded }) => succeeded.length)
      await until(
        () => [kept, own].every(({ succeeded }, group) => succeeded.length > (before[group] ?? 0) + 50),
        'calls',
        20_000
      )
    }
    for (const [number, port] of ports.entries()) {
      await moreCalls()
      nodes[number]?.child.kill('SIGTERM')
      t.equal((await nodes[number]?.ended)?.code, 0)
      const node = (nodes[number] = await cluster.start(`node-${number}`, port))
      await node.line(/"endpoint":"chat"/) // until the load balancer uses it again
    }
    await moreCalls()
    await Promise.all([kept.stop(), own.stop()])
    t.comment(
      `${kept.succeeded.length} succeeded over connections that stay open, ${own.succeeded.length} over others`
    )
    t.strictSame([kept.failures, own.failures], [[], []])
    await Promise.all(nodes.map(stopNode))
    const client = new Redis(redis.url)
    t.teardown(() => client.disconnect())
    t.equal(await client.zcard('headgate:{configured:limited}:open'), 0, 'no call stays open')
    const database = await openDatabase(place)
    t.teardown(database.close)
    const rows = await database.query.selectFrom('usage').select('call_id').execute()
    t.same(
      rows.map(({ call_id: id }) => id).toSorted(),
      [...kept.succeeded, ...own.succeeded].toSorted(),
      'each call is recorded once'
    )
  }
)
