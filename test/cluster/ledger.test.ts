/** Kills gateways and their database under load, and counts missing and duplicate usage records. */

import { setTimeout as sleep } from 'node:timers/promises'
import { once } from 'node:events'
import t from 'tap'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import {
  chat,
  clusterOf,
  countRecords,
  degradedParts,
  nothingLost,
  startCallers,
  stopNode,
  type Cluster,
  type Node
} from '../support/cluster.ts'
import { postgresServer } from '../support/postgres-server.ts'
import { noPostgres, postgresPlace, storeTest } from '../support/stores.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'

/** How often one test kills a gateway. */
const kills = Number(process.env['HEADGATE_TEST_KILLS'] ?? 4)

storeTest(
  'a gateway killed repeatedly under load loses no usage record and writes none twice',
  async (t, open, place) => {
    const cluster = await clusterOf(t, { place })
    let node = await cluster.start('one')
    let url: string | undefined = node.url
    const callers = startCallers(t, () => url)
    for (let kill = 0; kill < kills; kill++) {
      const before = callers.succeeded.length
      await until(() => callers.succeeded.length > before, 'calls', 20_000)
      await sleep(Math.random() * 300) // at any moment of writing a batch
      url = undefined
      node.child.kill('SIGKILL')
      await once(node.child, 'close')
      node = await cluster.start('one')
      url = node.url
    }
    await callers.stop()
    await stopNode(node)
    t.comment(`${kills} kills, ${callers.succeeded.length} succeeded, ${callers.failures.length} cut off`)
    t.ok(callers.succeeded.length > kills)
    t.strictSame(await countRecords(await open(), callers.succeeded), nothingLost)
  }
)

storeTest(
  'a call whose gateway is killed right after sending it is recorded as interrupted after the next start',
  async (t, open, place) => {
    let answer = (): void => undefined
    const released = new Promise<void>(resolve => {
      answer = resolve
    })
    t.teardown(() => {
      answer()
    })
    let requests = 0
    const cluster = await clusterOf(t, {
      place,
      script: async () => {
        requests++
        await released
        return {}
      }
    })
    const node = await cluster.start('one')
    const call = chat(node.url, 'in-flight').catch((error: unknown) => error)
    await until(() => requests > 0, 'the call to be at the provider')
    node.child.kill('SIGKILL')
    await call
    await stopNode(await cluster.start('one'))
    const database = await open()
    const rows = await database.query.selectFrom('usage').selectAll().execute()
    t.match(rows, [
      {
        call_id: 'in-flight',
        outcome: 'interrupted',
        attempts: 1,
        model: 'openai/gpt-5',
        provider: 'openai',
        endpoint: 'chat',
        estimated: 1,
        prompt_tokens: Number,
        cost_nano_usd: Number
      }
    ])
    t.strictSame(await countRecords(database, ['in-flight']), nothingLost)
  }
)

t.test('PostgreSQL shared by several gateways', { skip: noPostgres }, async t => {
  const twoNodes = async (t: Test, cluster: Cluster): Promise<[Node, Node]> =>
    await Promise.all([cluster.start('one'), cluster.start('two')])

  await t.test('a revoked key is refused by all gateways', async t => {
    const place = await postgresPlace(t)
    const nodes = await twoNodes(t, await clusterOf(t, { place }))
    const database = await openDatabase(place)
    t.teardown(database.close)
    const keys = await openKeyStore(database, [])
    t.teardown(keys.close)
    const { id, key } = await keys.create({ name: 'short-lived' })
    const statuses = async (): Promise<number[]> =>
      await Promise.all(nodes.map(async ({ url }) => (await chat(url, 'x', { key })).status))
    const all = async (wanted: number): Promise<boolean> =>
      (await statuses()).every(status => status === wanted)
    await until(async () => await all(200), 'the new key')
    await keys.revoke(id)
    await until(async () => await all(401), 'the revocation')
  })

  await t.test(
    'PostgreSQL is killed under load and restarts: no call fails, and no record is lost or duplicated',
    async t => {
      const server = postgresServer(t)
      const place = await postgresPlace(t, {}, server.url)
      const nodes = await twoNodes(t, await clusterOf(t, { place }))
      let next = 0
      const callers = startCallers(t, () => nodes[next++ % 2]?.url)
      await until(() => callers.succeeded.length > 100, 'calls')
      await server.kill()
      await until(
        async () =>
          (await Promise.all(nodes.map(degradedParts))).every(
            parts => parts.includes('store') && parts.includes('keys') && parts.includes('ledger')
          ),
        'both to say what is degraded',
        20_000
      )
      const during = callers.succeeded.length
      await until(() => callers.succeeded.length > during + 100, 'calls without a store')
      server.restart()
      await until(
        async () => (await Promise.all(nodes.map(degradedParts))).every(parts => parts.length === 0),
        'both to be well again',
        30_000
      )
      await callers.stop()
      await Promise.all(nodes.map(stopNode))
      const database = await openDatabase(place)
      t.teardown(database.close)
      t.comment(`${callers.succeeded.length} succeeded`)
      t.strictSame(callers.failures, [])
      t.strictSame(await countRecords(database, callers.succeeded), nothingLost)
    }
  )
})
