import { createHmac } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { AlertStore } from '../../lib/alerts/alert-store.ts'
import { alertOf } from '../../lib/alerts/alert.ts'
import { waiting } from '../../lib/alerts/store-outage.ts'
import { property } from '../../lib/json/type-guards.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import { alertsOn, webhookAt } from '../support/alerts.ts'
import { storeTest } from '../support/stores.ts'
import { collectAll } from '../support/collect-young.ts'
import { fakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { eventually, outlast, until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'
import type { Alert } from '../../lib/alerts/alert.ts'
import type { Alerts } from '../../lib/alerts/alerts.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { Test } from 'tap'
import type { Alert as AlertEntry } from '../../schemas/admin/alerts.ts'

const ops = 'webhooks.ops'
const alert = alertOf(
  { event: 'provider.down', message: 'openai is down.', data: { provider: 'openai' } },
  ['openai'],
  Date.now()
)
const accepted: Script = { status: 204 }

async function receiver (
  t: Test,
  answer: (request: SeenRequest, number: number) => Script
): Promise<{ readonly url: string, readonly requests: SeenRequest[] }> {
  const upstream = await fakeUpstream(answer)
  t.teardown(upstream.close)
  return upstream
}

async function raised (database: Database, given: Alert = alert): Promise<AlertStore> {
  const store = new AlertStore(database)
  await store.raise(given, [waiting(ops, 0)])
  return store
}

async function listed (
  store: AlertStore,
  isDone: (entry: AlertEntry) => boolean = () => true
): Promise<AlertEntry[]> {
  return await eventually(
    async () => (await store.list(undefined, pageRequest(new URLSearchParams()))).data,
    data => data.length > 0 && data.every(isDone),
    'the deliveries'
  )
}

const isDelivered = ({ deliveries }: AlertEntry): boolean =>
  deliveries.every(({ state }) => state === 'delivered')

/** Polls until a condition holds, as a gateway does every few seconds. */
async function lookUntil (
  alerts: readonly Alerts[],
  condition: () => boolean | Promise<boolean>,
  what: string
): Promise<void> {
  await until(async () => {
    for (const each of alerts) each.poll()
    return await condition()
  }, what)
}

function closing (t: Test, alerts: Alerts): Alerts {
  t.teardown(alerts.close)
  return alerts
}

storeTest(
  'a failed message is sent again with a new signature until the receiver accepts it',
  async (t, open) => {
    const database = await open()
    const { url, requests } = await receiver(t, (_request, number) =>
      number < 2 ? { status: 500 } : accepted
    )
    const store = await raised(database)
    const alerts = closing(t, alertsOn(database, { [ops]: webhookAt(url) }, { retryMs: [1, 1, 1] }))
    await lookUntil([alerts], () => requests.length >= 3, 'three attempts')
    t.match(await listed(store, isDelivered), [
      {
        deliveries: [{ channel: ops, state: 'delivered', attempts: 3, error: null, delivered_at_ms: Number }]
      }
    ])
    t.equal(requests.length, 3)
    t.same(new Set(requests.map(({ headers }) => headers['webhook-id'])), new Set([alert.id]))
    t.same(
      new Set(requests.map(({ text }) => text)),
      new Set([
        JSON.stringify({
          type: 'provider.down',
          timestamp: new Date(alert.atMs).toISOString(),
          data: { message: 'openai is down.', provider: 'openai' }
        })
      ])
    )
    for (const { headers, text } of requests) {
      const { 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
      t.ok(Math.abs(Number(timestamp) - Date.now() / 1000) < 60, 'the time of the attempt')
      t.equal(
        signature,
        `v1,${createHmac('sha256', 'the key')
          .update(`${alert.id}.${String(timestamp)}.${text}`)
          .digest('base64')}`
      )
    }
  }
)

storeTest(
  'delivery stops after the last attempt, or at once if the receiver is gone for good',
  async (t, open) => {
    const database = await open()
    const failing = await receiver(t, () => ({ status: 503 }))
    const gone = await receiver(t, () => ({ status: 410 }))
    const store = new AlertStore(database)
    await store.raise(alert, [waiting(ops, 0), waiting('webhooks.gone', 0)])
    const alerts = closing(
      t,
      alertsOn(
        database,
        { [ops]: webhookAt(failing.url), 'webhooks.gone': webhookAt(gone.url) },
        { retryMs: [1] }
      )
    )
    const isOver = ({ deliveries }: AlertEntry): boolean =>
      deliveries.every(({ state }) => state === 'failed')
    await lookUntil(
      [alerts],
      async () => (await store.list(undefined, pageRequest(new URLSearchParams()))).data.every(isOver),
      'both to fail'
    )
    t.match(await listed(store), [
      {
        deliveries: [
          {
            channel: 'webhooks.gone',
            state: 'failed',
            attempts: 1,
            error: 'the receiver answered with status 410',
            next_at_ms: null
          },
          {
            channel: ops,
            state: 'failed',
            attempts: 2,
            error: 'the receiver answered with status 503',
            next_at_ms: null
          }
        ]
      }
    ])
    alerts.poll()
    await outlast(20)
    t.equal(failing.requests.length, 2)
    t.equal(gone.requests.length, 1)
  }
)

storeTest('a slow receiver is retried and delays no other', async (t, open) => {
  const database = await open()
  const slow = await receiver(t, (_request, number) => number === 0 ? { silent: true } : accepted)
  const fast = await receiver(t, () => accepted)
  const store = new AlertStore(database)
  await store.raise(alert, [waiting(ops, 0), waiting('webhooks.fast', 0)])
  const alerts = closing(
    t,
    alertsOn(
      database,
      { [ops]: webhookAt(slow.url), 'webhooks.fast': webhookAt(fast.url) },
      { attemptMs: 3000, retryMs: [1] } // long enough for a busy machine
    )
  )
  await lookUntil([alerts], () => slow.requests.length === 1, 'the first attempt')
  collectAll() // no timer may be garbage collected
  await lookUntil([alerts], () => slow.requests.length > 1, 'the second attempt')
  t.ok(fast.requests.length > 0, 'the other has received it meanwhile')
  t.match(await listed(store, isDelivered), [
    { deliveries: [{ channel: 'webhooks.fast' }, { channel: ops, attempts: slow.requests.length }] }
  ])
  t.equal(slow.requests[0]?.headers['webhook-id'], slow.requests[1]?.headers['webhook-id'])
})

storeTest('an unsolicited second response is not taken for the next alert', async (t, open) => {
  const database = await open()
  const seen: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.on('data', data => {
      if (!data.toString().includes('webhook-id')) return
      seen.push(/webhook-id: (\S+)/i.exec(data.toString())?.[1] ?? '')
      const status = seen.length === 1 ? '200 OK' : '500 Broken'
      socket.write(
        `HTTP/1.1 ${status}\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`
      )
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // listening on TCP
  const store = await raised(database)
  const alerts = closing(t, alertsOn(database, { [ops]: webhookAt(url) }, { retryMs: [] }))
  alerts.poll()
  await listed(store, isDelivered)
  const second = alertOf(
    { event: 'provider.up', message: 'openai is back.', data: {} },
    ['openai'],
    alert.atMs + 1
  )
  await raised(database, second)
  const isOver = ({ deliveries }: AlertEntry): boolean =>
    deliveries.every(({ state }) => state !== 'pending')
  await lookUntil(
    [alerts],
    async () => (await store.list(undefined, pageRequest(new URLSearchParams()))).data.every(isOver),
    'the second alert'
  )
  t.match(await listed(store), [
    { id: second.id, deliveries: [{ state: 'failed' }] },
    { id: alert.id, deliveries: [{ state: 'delivered' }] }
  ])
  t.same(seen, [alert.id, second.id])
})

storeTest('two nodes on one store send an alert once', async (t, open) => {
  const { url, requests } = await receiver(t, () => accepted)
  const databases = [await open(), await open()] as const
  const nodes = databases.map(database => closing(t, alertsOn(database, { [ops]: webhookAt(url) })))
  for (let number = 0; number < 20; number++) {
    const each = alertOf(
      { event: 'provider.down', message: 'Down.', data: {} },
      [number],
      alert.atMs + number
    )
    await Promise.all(databases.map(async database => await raised(database, each)))
    for (const node of nodes) node.poll()
  }
  await lookUntil(nodes, () => requests.length >= 20, 'twenty alerts')
  await listed(new AlertStore(databases[0]), isDelivered)
  t.equal(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 20)
  t.equal(requests.length, 20)
})

t.test(
  'an alert whose node is killed during delivery is sent by another node, with the same id',
  async t => {
    const directory = t.testdir()
    const { openSqlite } = await import('../../lib/stores/sqlite/open.ts')
    const database = await openSqlite(directory)
    t.teardown(database.close)
    const { url, requests } = await receiver(t, (_request, number) =>
      number === 0 ? { silent: true } : accepted
    )
    const store = await raised(database)
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '../support/alert-worker.js'), directory, url],
      { stdio: 'ignore' }
    )
    t.teardown(() => {
      child.kill('SIGKILL')
    })
    await until(() => requests.length === 1, 'the delivery of the first node', 20_000)
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    const alerts = closing(t, alertsOn(database, { [ops]: webhookAt(url) }))
    alerts.poll()
    t.match(
      await listed(store),
      [{ deliveries: [{ state: 'pending', attempts: 1 }] }],
      'the lease of the first node is still valid'
    )
    await lookUntil([alerts], () => requests.length === 2, 'the delivery of the second node')
    t.match(await listed(store, isDelivered), [{ deliveries: [{ state: 'delivered', attempts: 2 }] }])
    t.same(
      requests.map(({ headers }) => headers['webhook-id']),
      [alert.id, alert.id]
    )
  }
)

storeTest('a node that stops releases the alerts it is sending', async (t, open) => {
  const database = await open()
  const { url, requests } = await receiver(t, (_request, number) =>
    number === 0 ? { silent: true } : accepted
  )
  const store = await raised(database)
  const stopping = alertsOn(database, { [ops]: webhookAt(url) })
  stopping.poll()
  await until(() => requests.length === 1, 'the attempt')
  await stopping.close()
  const other = closing(t, alertsOn(database, { [ops]: webhookAt(url) }))
  other.poll()
  t.match(await listed(store, isDelivered), [{ deliveries: [{ attempts: 2 }] }])
  stopping.poll()
  await outlast(20)
  t.equal(requests.length, 2)
})

storeTest(
  'an outage of the store is reported without the store, and recorded once it is back',
  async (t, open) => {
    const database = await open()
    const bodies: Array<Record<string, unknown>> = []
    const { url, requests } = await receiver(t, (request, number) => {
      bodies.push(request.json as Record<string, unknown>)
      return number === 0 ? { status: 500 } : accepted
    })
    const degraded: string[] = []
    const away = (): never => {
      throw new Error('the store is unreachable')
    }
    let isUnreachable = false
    const guarded = {
      ...database,
      get query () {
        return isUnreachable ? away() : database.query
      }
    }
    const store = new AlertStore(database)
    const outage = {}
    const opened = (): Alerts => closing(t, alertsOn(guarded, { [ops]: webhookAt(url) }, {
      store, degraded: () => degraded, retryMs: [1, 1], outage
    }))
    const [alerts, later] = [opened(), opened()]
    alerts.poll()
    await outlast(10)
    degraded.push('store')
    isUnreachable = true
    await lookUntil([alerts], () => requests.length === 2, 'two attempts')
    alerts.poll()
    await outlast(10)
    t.equal(requests.length, 2, 'it is sent once')
    t.equal(requests[0]?.headers['webhook-id'], requests[1]?.headers['webhook-id'])
    await alerts.close() // a reload
    isUnreachable = false
    degraded.pop()
    await lookUntil([later], () => requests.length === 3, 'the end')
    t.same(
      bodies.map(({ type }) => type),
      ['store.away', 'store.away', 'store.back']
    )
    const [back, begun] = await listed(store, isDelivered)
    t.match(begun, { event: 'store.away', deliveries: [{ attempts: 2, error: null }] })
    t.match(back, { event: 'store.back', data: { since: String }, deliveries: [{ attempts: 1 }] })
  }
)

storeTest('each outage of the store within an hour is reported, and its end', async (t, open) => {
  const database = await open()
  const { url, requests } = await receiver(t, () => accepted)
  const degraded: string[] = []
  const alerts = closing(t, alertsOn(database, { [ops]: webhookAt(url) }, { degraded: () => degraded }))
  for (const number of [1, 2, 3]) {
    degraded.push('store')
    await lookUntil([alerts], () => requests.length === 2 * number - 1, 'the beginning')
    degraded.pop()
    await lookUntil([alerts], () => requests.length === 2 * number, 'the end')
  }
  t.same(
    requests.map(({ json }) => property(json, 'type')),
    ['store.away', 'store.back', 'store.away', 'store.back', 'store.away', 'store.back']
  )
  t.equal(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 6, 'no receiver drops one')
})

storeTest('Redis that is unreachable for two looks is reported, and when it is back', async (t, open) => {
  const databases = [await open(), await open()] as const
  const { url, requests } = await receiver(t, () => accepted)
  const degraded = new Set<string>()
  const nodes = databases.map(database =>
    closing(t, alertsOn(database, { [ops]: webhookAt(url) }, { degraded: () => [...degraded] }))
  )
  const store = new AlertStore(databases[0])
  degraded.add('coordination')
  nodes[0]?.poll()
  await outlast(50)
  degraded.clear()
  nodes[0]?.poll()
  await outlast(50)
  t.same(
    (await store.list(undefined, pageRequest(new URLSearchParams()))).data,
    [],
    'a brief outage raises no alert'
  )
  degraded.add('coordination')
  await lookUntil(nodes, () => requests.length === 1, 'the alert')
  for (const node of nodes) node.poll()
  degraded.clear()
  // Other nodes report the recovery: after a restart none of them has seen the outage.
  const later = databases.map(database =>
    closing(t, alertsOn(database, { [ops]: webhookAt(url) }, {
      degraded: () => [...degraded], unseenMs: 100
    }))
  )
  await lookUntil(later, () => requests.length === 2, 'the end')
  t.match(await listed(store, isDelivered), [{ event: 'coordination.back' }, { event: 'coordination.away' }])
  for (const node of nodes) node.poll()
  await outlast(50)
  t.equal(requests.length, 2)
})

storeTest('Redis that only one node has lost stays away until that node has it again', async (t, open) => {
  const databases = [await open(), await open()] as const
  const { url, requests } = await receiver(t, () => accepted)
  const degraded = new Set(['coordination'])
  const channels = { [ops]: webhookAt(url) }
  const cutOff = closing(t, alertsOn(databases[0], channels, { degraded: () => [...degraded] }))
  await lookUntil([cutOff], () => requests.length === 1, 'the alert')
  const well = closing(t, alertsOn(databases[1], channels, { degraded: () => [] }))
  for (let look = 0; look < 3; look++) {
    for (const node of [well, cutOff]) node.poll()
    await outlast(50)
  }
  t.equal(requests.length, 1)
  degraded.clear()
  await lookUntil([well, cutOff], () => requests.length === 2, 'the end')
  t.match(
    await listed(new AlertStore(databases[0]), isDelivered),
    [{ event: 'coordination.back' }, { event: 'coordination.away' }]
  )
})

storeTest('a test alert is sent once, and its result is listed', async (t, open) => {
  const database = await open()
  const { url, requests } = await receiver(t, (_request, number) => number === 0 ? { status: 500 } : accepted)
  const alerts = closing(t, alertsOn(database, { [ops]: webhookAt(url) }))
  t.match(await alerts.test(ops, 'Ada'), {
    channel: ops,
    state: 'failed',
    attempts: 1,
    error: 'the receiver answered with status 500'
  })
  t.match(await alerts.test(ops, 'Ada'), {
    channel: ops,
    state: 'delivered',
    error: null,
    delivered_at_ms: Number
  })
  t.equal(await alerts.test('webhooks.other', 'Ada'), undefined)
  alerts.poll()
  await outlast(20)
  t.match(requests.map(({ json }) => json), [{ type: 'test', data: { by: 'Ada' } }, { type: 'test' }])
  t.equal(requests.length, 2)
  t.match(await alerts.list('test', pageRequest(new URLSearchParams())), {
    data: [{ deliveries: [{ state: 'delivered' }] }, { deliveries: [{ state: 'failed', next_at_ms: null }] }]
  })
})
