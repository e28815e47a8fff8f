import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { freePort } from '../support/free-port.ts'
import { clusterOf, startCallers } from '../support/cluster.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { childrenOf } from '../support/headgate.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'

const example = join(import.meta.dirname, '../../../examples/deployment/nginx.conf')
const noNginx = spawnSync('nginx', ['-v']).status !== 0 && 'nginx is not installed'

interface Balancer {
  readonly url: string
  /** Takes a node out of use before a restart; without an argument all are in use. */
  readonly exclude: (node?: number) => Promise<void>
}

/** Starts the load balancer of the examples in front of two ports. */
async function startNginx (t: Test, ports: readonly number[]): Promise<Balancer> {
  const directory = join(t.testdirName, 'nginx') // beside the files of the cluster
  mkdirSync(directory)
  const [port, file] = [await freePort(), join(directory, 'nginx.conf')]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${directory}/${name};`).join('\n')
  const configure = (excluded?: number): void => {
    const server = readFileSync(example, 'utf8').replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace(/server node-(\d):8080 (.*);/g, (_, node, rest) => `server 127.0.0.1:${ports[Number(node) - 1]} ${Number(node) - 1 === excluded ? 'down' : rest};`)
    writeFileSync(file, `daemon off; pid ${directory}/pid; events {} http { access_log off; ${temporary}\n${server} }`)
  }
  configure()
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', join(directory, 'errors')])
  t.teardown(() => child.kill('SIGTERM'))
  const url = `http://127.0.0.1:${port}`
  await until(async () => await fetch(`${url}/livez`).then(({ ok }) => ok, () => false), 'nginx to serve', 10_000)
  return {
    url,
    exclude: async node => {
      const before = await childrenOf(child.pid ?? 0)
      configure(node)
      child.kill('SIGHUP')
      await until(async () => (await childrenOf(child.pid ?? 0)).every(pid => !before.includes(pid)), 'workers of before to end', 20_000)
    }
  }
}

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
