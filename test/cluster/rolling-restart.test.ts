import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { freePort } from '../support/free-port.ts'
import { clusterOf, startCallers } from '../support/cluster.ts'
import { noNginx, startNginx } from '../support/nginx.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { until } from '../support/until.ts'

t.test('gateways behind a load balancer are restarted one after the other, and no call fails', { skip: noPostgres || noNginx, timeout: 90_000 }, async t => {
  const place = await postgresPlace(t)
  const cluster = await clusterOf(t, { place, config: { server: { shutdown_delay_ms: 1000, accepted_hosts: ['*'] } } })
  const ports = [await freePort(), await freePort()] as const
  const nodes = await Promise.all(ports.map(async (port, number) => await cluster.start(`node-${number}`, port)))
  const { url, exclude } = await startNginx(t, ports)
  // Connections of their own: nginx ends those that are kept alive when its configuration changes.
  const callers = startCallers(t, () => url, { keepAlive: false })
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
  for (const { child, ended } of nodes) {
    child.kill('SIGTERM')
    await ended
  }
  const database = await openDatabase(place)
  t.teardown(database.close)
  const rows = await database.query.selectFrom('usage').select('call_id').execute()
  t.same(rows.map(({ call_id: id }) => id).toSorted(), callers.succeeded.toSorted(), 'each call is on record once')
})
