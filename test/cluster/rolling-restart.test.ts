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

t.test('gateways behind a load balancer are restarted one after the other, and no call fails', { skip: noPostgres || noRedis || noNginx, timeout: 90_000 }, async t => {
  const [place, redis] = [await postgresPlace(t), await startRedis(t)]
  const cluster = await clusterOf(t, {
    place,
    config: {
      server: { shutdown_delay_ms: 1000, accepted_hosts: ['*'] },
      coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 }, // a slow machine is no reason to count alone
      keys: [{ name: 'limited', key: 'env:LIMITED_KEY', limits: { concurrent_calls: 100, budget: { usd: 1000, per: 'total' } } }]
    },
    env: { REDIS_URL: redis.url, LIMITED_KEY: limitedKey }
  })
  const ports = [await freePort(), await freePort()] as const
  const nodes = await Promise.all(ports.map(async (port, number) => await cluster.start(`node-${number}`, port)))
  const { url, exclude } = await startNginx(t, ports)
  // Connections of their own: nginx ends those that are kept alive when its configuration changes.
  const callers = startCallers(t, () => url, { keepAlive: false, key: limitedKey })
  for (const [number, port] of ports.entries()) {
    const before = callers.succeeded.length
    await until(() => callers.succeeded.length > before + 50, 'calls', 20_000)
    await exclude(number)
    nodes[number]?.child.kill('SIGTERM')
    t.equal((await nodes[number]?.ended)?.code, 0)
    nodes[number] = await cluster.start(`node-${number}`, port)
    await exclude()
  }
  const before = callers.succeeded.length
  await until(() => callers.succeeded.length > before + 50, 'calls', 20_000)
  await callers.stop()
  t.comment(`${callers.succeeded.length} succeeded`)
  t.strictSame(callers.failures, [])
  await Promise.all(nodes.map(stopNode))
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  t.equal(await client.zcard('headgate:{configured:limited}:open'), 0, 'no call is open for ever')
  const database = await openDatabase(place)
  t.teardown(database.close)
  const rows = await database.query.selectFrom('usage').select('call_id').execute()
  t.same(rows.map(({ call_id: id }) => id).toSorted(), callers.succeeded.toSorted(), 'each call is on record once')
})
