import { dayMs } from '../../lib/core/day.ts'
import { AlertStore } from '../../lib/alerts/alert-store.ts'
import { alertOf } from '../../lib/alerts/alert.ts'
import { waiting } from '../../lib/alerts/store-outage.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import { storeTest } from '../support/stores.ts'
import type { Alert } from '../../lib/alerts/alert.ts'

function alertAbout (provider: string, atMs = 1000): Alert {
  return alertOf(
    { event: 'provider.down', message: `${provider} is down.`, data: { provider } },
    [provider],
    atMs
  )
}

const first = pageRequest(new URLSearchParams())

storeTest('an alert raised by several processes is delivered by one of them', async (t, open) => {
  const stores = (await Promise.all([open(), open()])).map(database => new AlertStore(database))
  const [one, other] = stores as [AlertStore, AlertStore]
  const alert = alertAbout('openai')
  await Promise.all(stores.map(async store => await store.raise(alert, [waiting('a', 0), waiting('b', 0)])))
  await other.raise({ ...alert, message: 'changed' }, [waiting('c', 0)])
  const taken = (
    await Promise.all(stores.map(async store => await store.takeDue(['a', 'b', 'c'], 8, 60_000)))
  ).flat()
  t.same(taken.map(({ channel, attempts }) => `${channel} ${attempts}`).toSorted(), ['a 1', 'b 1'])
  t.same(taken.map(delivery => delivery.alert), [alert, alert])
  t.same(await other.takeDue(['a', 'b'], 8, 60_000), [], 'both are leased')
  await one.finish(alert.id, 'a', { state: 'delivered', delivered_at_ms: 5 })
  await one.finish(alert.id, 'b', { next_at_ms: 0, error: 'no' })
  await one.finish(alert.id, 'a', { state: 'failed', error: 'late news of an attempt that took too long' })
  t.match(await other.takeDue(['a', 'b'], 8, 60_000), [{ channel: 'b', attempts: 2 }])
  t.match(await other.list(undefined, first), {
    data: [{
      id: alert.id, event: 'provider.down', message: 'openai is down.', data: { provider: 'openai' },
      deliveries: [
        { channel: 'a', state: 'delivered', error: null, next_at_ms: null, delivered_at_ms: 5 },
        { channel: 'b', state: 'pending', attempts: 2, error: 'no', next_at_ms: Number }
      ]
    }]
  })
})

storeTest('an alert whose process died while raising it is completed by another', async (t, open) => {
  const database = await open()
  const store = new AlertStore(database)
  const alert = alertAbout('openai')
  await database.query
    .insertInto('alert_deliveries')
    .values({ ...waiting('a', 0), alert_id: alert.id })
    .execute()
  t.same(await store.takeDue(['a'], 8, 1000), [], 'an alert that was not stored is not sent')
  await store.raise(alert, [waiting('a', 0), waiting('b', 0)])
  t.same((await store.takeDue(['a', 'b'], 8, 1000)).map(({ channel }) => channel).toSorted(), ['a', 'b'])
})

storeTest('an unfinished delivery is due again when its lease ends', async (t, open) => {
  let nowMs = 1000
  const store = new AlertStore({ ...await open(), now: () => nowMs })
  await store.raise(alertAbout('openai'), [waiting('a', 0)])
  t.equal((await store.takeDue(['a'], 8, 500)).length, 1)
  nowMs = 1499
  t.equal((await store.takeDue(['a'], 8, 500)).length, 0)
  nowMs = 1500
  t.match(await store.takeDue(['a'], 8, 500), [{ attempts: 2 }])
  t.same(await store.takeDue([], 8, 500), [])
})

storeTest('a lease is granted to one process at a time', async (t, open) => {
  let nowMs = 1000
  const stores = (await Promise.all([open(), open()])).map(
    database => new AlertStore({ ...database, now: () => nowMs })
  )
  const claims = async (): Promise<boolean[]> =>
    await Promise.all(stores.map(async store => await store.lease('work', 500)))
  t.equal((await claims()).filter(Boolean).length, 1)
  t.same(await claims(), [false, false])
  nowMs = 1500
  t.equal((await claims()).filter(Boolean).length, 1)
  t.ok(await stores[0]?.lease('other work', 500))
})

storeTest('a condition holds from its beginning until it ends or is no longer reported', async (t, open) => {
  let nowMs = 1_000_000
  const store = new AlertStore({ ...await open(), now: () => nowMs })
  t.equal(await store.since('x'), undefined)
  await store.keep('x')
  t.equal(await store.since('x'), undefined)
  t.equal(await store.begin('x'), 1_000_000)
  nowMs += 9 * 60_000
  t.equal(await store.begin('x'), 1_000_000)
  nowMs += 9 * 60_000
  await store.keep('x')
  nowMs += 9 * 60_000
  t.equal(await store.since('x'), 1_000_000)
  await store.end('x')
  t.equal(await store.since('x'), undefined)
  t.equal(await store.begin('x'), nowMs)
  nowMs += 11 * 60_000
  t.equal(await store.since('x'), undefined)
  t.equal(await store.begin('x'), nowMs, 'it starts over')
})

storeTest('alerts are listed by event and page, and old ones are deleted', async (t, open) => {
  const store = new AlertStore(await open())
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    await store.raise(alertAbout(name, index), [waiting('x', 0)])
  }
  const page = await store.list('provider.down', pageRequest(new URLSearchParams({ limit: '2' })))
  t.match(page, { data: [{ data: { provider: 'c' } }, { data: { provider: 'b' } }], next_cursor: String })
  const next = await store.list(
    undefined,
    pageRequest(new URLSearchParams({ cursor: page.next_cursor ?? '' }))
  )
  t.match(next, { data: [{ data: { provider: 'a' }, deliveries: [{ channel: 'x' }] }], next_cursor: null })
  t.same((await store.list('provider.up', first)).data, [])
})

storeTest('alerts that have not been raised for a long time are deleted', async (t, open) => {
  let nowMs = 1_000_000
  const store = new AlertStore({ ...await open(), now: () => nowMs })
  await store.raise(alertAbout('over', nowMs), [waiting('x', 0)])
  await store.raise(alertAbout('lasting', nowMs), [waiting('x', 0)])
  nowMs += 100 * dayMs
  await store.raise(alertAbout('lasting', nowMs), [waiting('x', 0)])
  await store.prune(nowMs - dayMs)
  t.match(await store.list(undefined, first), { data: [{ data: { provider: 'lasting' }, at_ms: 1_000_000 }] })
  t.match(await store.takeDue(['x'], 8, 1000), { length: 1 }, 'together with their deliveries')
})
