/** Redis with high availability: behind Sentinels, as a cluster, and over TLS. */

import { Redis } from 'ioredis'
import t from 'tap'
import { requestOf } from '../support/limits.ts'
import { createRedisClient } from '../../lib/coordination/connect-redis.ts'
import { parseRedisAddress } from '../../lib/coordination/redis-address.ts'
import { RedisLimiter } from '../../lib/limits/redis-limiter.ts'
import { makeCertificate } from '../support/certificate.ts'
import { connectTo, noRedis, startRedis, startSentinel } from '../support/redis.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'
import type { RedisServer } from '../../lib/coordination/redis-server.ts'

/** Slow hardware must not make Redis count as away. */
const patient = { timeoutMs: 5000 }

/** Checks shared limits: of twenty calls with eight keys each, ten are admitted. */
async function countTogether (t: Test, servers: readonly RedisServer[], name = 'key'): Promise<void> {
  const limiters = servers.map(
    server => new RedisLimiter(server, { without: () => 'refuse', onFailure: error => t.error(error) })
  )
  t.teardown(() => limiters.forEach(limiter => limiter.close()))
  for (let key = 0; key < 8; key++) {
    const wanted = {
      keyId: `${name}-${key}`,
      limits: { concurrentCalls: 10, requestsPerMinute: 10 },
      tokens: 0,
      nanoUsd: 0
    }
    const decisions = await Promise.all(
      limiters.flatMap(limiter =>
        Array.from({ length: 20 / limiters.length }, async () => await limiter.reserve(requestOf(wanted)))
      )
    )
    t.equal(decisions.filter(({ admitted }) => admitted).length, 10)
  }
}

/** Checks that a message arrives, or else that the subscriber was notified that some may have been lost. */
async function exchangeMessages (t: Test, [one, two]: readonly [RedisServer, RedisServer]): Promise<void> {
  const messages: string[] = []
  two.subscribe('topic', message => {
    if (message === undefined) one.publish('topic', 'hello')
    else messages.push(message)
  })
  await until(() => messages.length > 0, 'the message', 20_000)
  t.equal(messages[0], 'hello')
}

t.test('over TLS, with a private certificate authority', { skip: noRedis }, async t => {
  const directory = t.testdir()
  const { certificate, key } = makeCertificate(directory)
  const { port } = await startRedis(
    t,
    '--tls-cert-file',
    certificate,
    '--tls-key-file',
    key,
    '--tls-ca-cert-file',
    certificate,
    '--tls-auth-clients',
    'no',
    '--requirepass',
    'secret'
  )
  const url = `rediss://:secret@127.0.0.1:${port}`
  const servers = await Promise.all([
    connectTo(t, `${url}?sslrootcert=${certificate}`, patient),
    connectTo(t, `${url}?sslrootcert=${certificate}`, patient)
  ] as const)
  await countTogether(t, servers)
  await exchangeMessages(t, servers)
  const distrusting = await connectTo(t, url, { timeoutMs: 300 })
  t.equal(distrusting.isUp, false)
  t.match(distrusting.failure, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  await t.rejects(connectTo(t, `${url}?sslrootcert=${directory}/missing.pem`), { code: 'ENOENT' })
  const withoutPassword = await connectTo(t, `rediss://127.0.0.1:${port}?sslrootcert=${certificate}`, {
    timeoutMs: 300
  })
  t.match(String(withoutPassword.failure), /NOAUTH/, 'with the reason')
})

t.test(
  'an untrusted server is refused on each attempt, and nothing else fails',
  { skip: noRedis },
  async t => {
    const { certificate, key } = makeCertificate(t.testdir())
    const { port } = await startRedis(
      t,
      '--tls-cert-file',
      certificate,
      '--tls-key-file',
      key,
      '--tls-ca-cert-file',
      certificate,
      '--tls-auth-clients',
      'no'
    )
    const address = parseRedisAddress(`rediss://127.0.0.1:${port}`)
    if (address === undefined) throw new TypeError('no address')
    const clients = await Promise.all(
      Array.from(
        { length: 20 },
        async () => await createRedisClient({ address }, { timeoutMs: 300, retryMs: 12 })
      )
    )
    t.teardown(() => clients.forEach(client => client.disconnect()))
    let refused = 0
    for (const client of clients) {
      client.on('error', () => refused++)
      client.connect().catch(() => refused++)
    }
    await until(() => refused > 1000, 'a thousand refusals', 30_000)
    t.notOk(clients.some(({ status }) => status === 'ready'))
  }
)

t.test(
  'behind Sentinels that fail over to another primary',
  { skip: noRedis, timeout: 120_000 },
  async t => {
    const [primary, replica] = [await startRedis(t), await startRedis(t)]
    const admin = new Redis(replica.port, '127.0.0.1')
    t.teardown(() => admin.disconnect())
    await admin.replicaof('127.0.0.1', primary.port)
    await until(
      async () => (await admin.info('replication')).includes('master_link_status:up'),
      'the replica',
      20_000
    )
    const sentinels = await Promise.all(
      [1, 2, 3].map(async () => await startSentinel(t, 'primary', primary.port))
    )
    const sentinel = new Redis(sentinels[0] ?? 0, '127.0.0.1')
    t.teardown(() => sentinel.disconnect())
    await until(
      async () => {
        const [fields] = (await sentinel.call('SENTINEL', 'MASTERS')) as string[][] // a single primary
        const of = (name: string): string => fields?.[fields.indexOf(name) + 1] ?? ''
        return of('num-other-sentinels') === '2' && of('num-slaves') === '1'
      },
      'Sentinels to know each other',
      20_000
    )
    const url = `redis://${sentinels.map(port => `127.0.0.1:${port}`).join(',')}`
    const servers = await Promise.all([
      connectTo(t, url, { ...patient, sentinel: 'primary' }),
      connectTo(t, url, { ...patient, sentinel: 'primary' })
    ] as const)
    await countTogether(t, servers)
    await primary.kill()
    await until(() => servers.every(({ isUp }) => !isUp), 'the primary to be unreachable', 20_000)
    await until(
      () => servers.every(({ isUp, processes }) => isUp && processes === 2),
      'the other one',
      60_000
    )
    await countTogether(t, servers, 'later')
    await exchangeMessages(t, servers)
  }
)

t.test(
  'as a cluster, with the keys of the gateway spread over slots',
  { skip: noRedis, timeout: 60_000 },
  async t => {
    const nodes = await Promise.all(
      [1, 2, 3].map(
        async () =>
          await startRedis(
            t,
            '--cluster-enabled',
            'yes',
            '--cluster-config-file',
            'nodes.conf',
            '--cluster-node-timeout',
            '3000'
          )
      )
    )
    const admins = nodes.map(({ port }) => new Redis(port, '127.0.0.1'))
    t.teardown(() => admins.forEach(admin => admin.disconnect()))
    for (const [index, admin] of admins.entries()) {
      const [first, next] = [index, index + 1].map(part => Math.floor((16384 * part) / 3))
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', first ?? 0, (next ?? 0) - 1)
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      await admin.call('CLUSTER', 'MEET', '127.0.0.1', nodes[0]?.port ?? 0)
    }
    await until(
      async () =>
        (await Promise.all(admins.map(async admin => await admin.call('CLUSTER', 'INFO')))).every(
          info => String(info).includes('cluster_state:ok') && String(info).includes('cluster_known_nodes:3')
        ),
      'the cluster',
      20_000
    )
    const url = `redis://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    const servers = await Promise.all([
      connectTo(t, url, { ...patient, isCluster: true }),
      connectTo(t, url, { ...patient, isCluster: true })
    ] as const)
    await until(
      () => servers.every(({ isUp, processes }) => isUp && processes === 2),
      'both to be connected'
    )
    await countTogether(t, servers)
    const used = await Promise.all(admins.map(async admin => await admin.dbsize()))
    t.ok(
      used.every(size => size > 0),
      `keys are on all nodes: ${used.join(' ')}`
    )
    await exchangeMessages(t, servers)
    await nodes[2]?.kill()
    await until(() => servers.every(({ isUp }) => !isUp), 'a cluster without all places to be unreachable', 20_000)
  }
)
