/** Gateways that share one Redis and one store. */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { request } from 'undici'
import { Secret } from '../../lib/core/secret.ts'
import { openKeyStore, type KeyStore } from '../../lib/keys/key-store.ts'
import { openCoordination } from '../../lib/process/open-coordination.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { createLog } from '../../lib/log/log.ts'
import { directoryOf, ask, startGateway } from '../support/headgate.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { settings } from '../support/settings.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'

const log = createLog('silent')

t.test('without an address nothing is opened, and an address that is not Redis is refused', async t => {
  const usageDatabase = await openDatabase(directoryOf(t))
  t.teardown(usageDatabase.close)
  const parts = { usageDatabase, log, without: () => 'share' as const }
  t.equal(await openCoordination(settings(), parts), undefined)
  await t.rejects(
    openCoordination(
      settings({ coordination: { cluster: false, url: new Secret('localhost:6379'), timeoutMs: 100 } }),
      parts
    ),
    /`coordination.url` is not an address/
  )
})

t.test('a new data directory is created', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const home = directoryOf(t, { file: '' })
  const usageDatabase = await openDatabase(join(home, 'store'))
  t.teardown(usageDatabase.close)
  const open = async (directory: string): Promise<void> => {
    const parts = { usageDatabase: { ...usageDatabase, directory }, log, without: () => 'share' as const }
    await (
      await openCoordination(
        settings({ coordination: { cluster: false, url: new Secret(redis.url), timeoutMs: 5000 } }),
        parts
      )
    )?.close()
  }
  await open(join(home, 'a', 'b'))
  t.equal(statSync(join(home, 'a', 'b')).mode & 0o777, 0o700)
  await t.rejects(open(join(home, 'file', 'b')), {
    name: 'CommandError',
    message: /^The data directory cannot be created: .*file/
  })
})

t.test('gateways that count together', { skip: noRedis, timeout: 90_000 }, async t => {
  const redis = await startRedis(t)
  const config = JSON.stringify({
    coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 }, // a slow machine must not count locally
    metrics: { port: 0 },
    providers: { sandbox: {} },
    models: { 'sandbox/echo': { price: { input: 100, output: 100 } } },
    keys: [
      { name: 'rate', key: 'env:RATE_KEY', limits: { requests_per_minute: 12 } },
      { name: 'budget', key: 'env:BUDGET_KEY', limits: { budget: { usd: 0.05, per: 'total' } } },
      { name: 'free', key: 'env:FREE_KEY' }
    ]
  })
  const directory = directoryOf(t, { 'headgate.yaml': config, one: {}, two: {} })
  const environment = {
    REDIS_URL: redis.url,
    RATE_KEY: 'rate-key-of-the-test',
    BUDGET_KEY: 'budget-key-of-the-test',
    FREE_KEY: 'free-key-of-the-test'
  }
  // The gateways have separate stores here: only Redis knows what the other one has counted.
  const nodes = await Promise.all(
    ['one', 'two'].map(
      async name =>
        await startGateway(t, directory, { ...environment, HEADGATE_DATA_DIR: `${directory}/${name}` })
    )
  )
  const urls = nodes.map(({ url }) => url)
  const rush = async (key: string, each: number) =>
    await Promise.all(urls.flatMap(url => Array.from({ length: each }, async () => await ask(url, key))))
  const count = (answers: ReadonlyArray<{ readonly status: number }>, wanted: number): number =>
    answers.filter(({ status }) => status === wanted).length

  await t.test('a limit of 12 admits 12 calls and not 13', async t => {
    const answers = await rush(environment.RATE_KEY, 20)
    t.same([count(answers, 200), count(answers, 429)], [12, 28])
  })

  await t.test('a shared budget can be spent completely and is never exceeded', async t => {
    const answers = []
    for (let round = 0; round < 40 && count(answers, 402) < 2; round++) {
      answers.push(...(await rush(environment.BUDGET_KEY, 5)))
    }
    t.ok(count(answers, 402) >= 2, 'it is used up')
    // of the sandbox
    const tokens = answers.map(
      ({ body }) => (body as { usage?: { total_tokens: number } }).usage?.total_tokens ?? 0
    )
    const spent = (tokens.reduce((sum, used) => sum + used) * 100) / 1e6
    t.ok(spent <= 0.05 && spent > 0.04, `$${spent} of $0.05`)
  })

  await t.test('calls continue while Redis is down, and /health reports it', async t => {
    const health = async () =>
      await Promise.all(
        urls.map(
          async url =>
            (await (
              await request(`${url}/health`, {
                headers: { authorization: `Bearer ${environment.FREE_KEY}` }
              })
            ).body.json()) as { degraded?: string[] }
        )
      )
    t.same(await health(), [{ status: 'ok' }, { status: 'ok' }])
    await eachKnowsOfTheOther(redis.url)
    await redis.kill()
    const answers = await rush(environment.RATE_KEY, 20)
    t.equal(count(answers, 200), 12, 'six of each')
    t.equal(count(answers, 200) + count(answers, 429), 40)
    t.same(await health(), [
      { status: 'ok', degraded: ['coordination'] },
      { status: 'ok', degraded: ['coordination'] }
    ])
    const [, metricsUrl = ''] = (await nodes[0]?.line(/"url":"(http:[^"]+\/metrics)"/)) ?? []
    const metrics = await (await request(metricsUrl)).body.text()
    t.match(metrics, /^headgate_coordination_away 1$/m)
    t.match(metrics, /^headgate_coordination_alone_total 20$/m)
    await redis.restart()
    await until(
      async () => (await health()).every(({ degraded }) => degraded === undefined),
      'both to count together again'
    )
    t.equal(count(await rush(environment.FREE_KEY, 1), 200), 2)
  })
})

/** Waits until each gateway has sent a heartbeat since both were running. */
async function eachKnowsOfTheOther (url: string): Promise<void> {
  const client = new Redis(url)
  const times = async (): Promise<number[]> =>
    (await client.zrangebyscore('headgate:processes', '-inf', '+inf', 'WITHSCORES'))
      .filter((_, index) => index % 2 === 1)
      .map(Number)
  await until(async () => (await times()).length === 2, 'two gateways')
  const bothWereThere = Math.max(...await times())
  await until(async () => (await times()).every(time => time > bothWereThere), 'a sign of life of each')
  client.disconnect()
}

t.test('a key revoked at one gateway is refused by another at once', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const database = await openDatabase(directoryOf(t))
  t.teardown(database.close)
  const store = async (): Promise<KeyStore> => {
    const coordination = await openCoordination(
      settings({ coordination: { cluster: false, url: new Secret(redis.url), timeoutMs: 5000 } }),
      { usageDatabase: database, log, without: () => 'share' }
    )
    const keys = await openKeyStore(database, [], {
      pollMs: 600_000,
      ...coordination !== undefined && { onChange: coordination.notifyOfKeys }
    })
    coordination?.onKeyChange(keys.poll)
    t.teardown(async () => {
      keys.close()
      await coordination?.close()
    })
    return keys
  }
  const [one, two] = [await store(), await store()]
  const { id, key } = await one.create({ name: 'short-lived' })
  await until(() => two.check(key) !== undefined, 'the new key')
  await one.revoke(id)
  await until(() => two.check(key) === undefined, 'the revocation, long before a poll')
})

t.test(
  'a killed and restarted gateway refuses calls because of its old reservations for a few seconds at most',
  { skip: noRedis, timeout: 90_000 },
  async t => {
    const redis = await startRedis(t)
    const upstream = await fakeUpstream((_, number) =>
      number === 0 ? { silent: true } : { pieces: [chatAnswer('x')] }
    )
    t.teardown(upstream.close)
    const directory = directoryOf(t, {
      'headgate.yaml': JSON.stringify({
        coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 },
        providers: { some: { base_url: upstream.url, list_models: false } },
        models: { 'some/model': { price: { input: 1, output: 100 } } },
        keys: [
          {
            name: 'budget',
            key: 'env:BUDGET_KEY',
            limits: { concurrent_calls: 1, budget: { usd: 1, per: 'total' } }
          }
        ]
      })
    })
    const environment = { REDIS_URL: redis.url, BUDGET_KEY: 'budget-key-of-the-test' }
    const first = await startGateway(t, directory, environment)
    const cutOff = ask(first.url, environment.BUDGET_KEY, 'some/model').catch((error: unknown) => error)
    await upstream.request(0)
    first.child.kill('SIGKILL')
    await first.ended
    t.ok((await cutOff) instanceof Error)
    const second = await startGateway(t, directory, environment)
    await until(
      async () => (await ask(second.url, environment.BUDGET_KEY, 'some/model')).status === 200,
      'a call to be admitted',
      20_000
    )
  }
)
