import { CallBodyStore, type NewCallBodies } from '../../lib/stores/call-body-store.ts'
import { findBodies } from '../../lib/usage/bodies-report.ts'
import { lockedAfterFirstPiece, storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

const day = 86_400_000
const body = (text: string): NonNullable<NewCallBodies['request']> => ({
  media_type: 'application/json',
  size_bytes: text.length,
  text,
  truncated: false,
  redacted: false
})

function bodies (id: string, parts: Partial<NewCallBodies> = {}): NewCallBodies {
  return {
    id,
    project_id: 'p',
    readable_by: 'admin',
    expires_at_ms: 10 * day,
    state: 'kept',
    request: body('{}'),
    answer: body('[]'),
    ...parts
  }
}

storeTest(
  'bodies are returned as stored until they expire; after that it is known that they existed',
  async (t, open) => {
    const database = await open()
    const store = new CallBodyStore(database)
    const rows = ['short', 'long', 'dropped', 'none'].map((call_id, index) => usageRowOf(index, { call_id }))
    await database.insertUsage(rows)
    const [short = '', long = '', dropped = ''] = rows.map(({ id }) => id)
    const text = JSON.stringify('é'.repeat(300_000))
    await store.add(bodies(short))
    await store.add(bodies(long, { request: body(text), answer: undefined, expires_at_ms: 20 * day }))
    await store.add(bodies(dropped, { state: 'dropped', request: undefined, answer: undefined }))
    const find = async (id: string, nowMs: number) => await findBodies(database.query, id, undefined, nowMs)
    t.match(await find('short', day), {
      id: short,
      state: 'kept',
      bodies: {
        request: { text: '{}' },
        answer: { text: '[]' },
        readable_by: 'admin',
        expires_at_ms: 10 * day
      }
    })
    t.match((await find('long', day))?.bodies, { request: { text }, answer: null })
    for (const [id, state] of [
      ['short', 'expired'],
      ['dropped', 'dropped'],
      ['none', 'not_kept']
    ] as const) {
      const found = await find(id, 11 * day)
      t.equal(found?.state, state)
      t.equal(found?.bodies, undefined)
    }
    t.equal(await find('other', day), undefined)

    await store.expire(11 * day, 90)
    const kept = async () =>
      await database.query
        .selectFrom('call_bodies')
        .select(['id', 'state', 'request'])
        .orderBy('expires_at_ms')
        .orderBy('state')
        .execute()
    t.match(await kept(), [
      { id: dropped, state: 'dropped' },
      { id: short, state: 'expired', request: null },
      { id: long, state: 'kept' }
    ])
    await store.expireProject('p')
    await store.expire(11 * day, 90)
    t.equal(
      (await database.query.selectFrom('text_pieces').selectAll().execute()).length,
      0,
      'long texts are gone as well'
    )
    t.equal((await find('long', day))?.state, 'expired')
    await store.expire(200 * day, 90)
    t.same(await kept(), [])
  }
)

storeTest(
  'bodies of calls that end after their project was archived are never shown, and are deleted',
  async (t, open) => {
    const database = await open()
    const store = new CallBodyStore(database)
    const project = { name: 'p', models: null, limits: null, created_at_ms: 1 }
    await database.query
      .insertInto('projects')
      .values([
        { ...project, id: 'used', archived_at_ms: null },
        { ...project, id: 'archived', archived_at_ms: 2 }
      ])
      .execute()
    const expiresAtMs = Date.now() + day
    await store.add(bodies('a', { project_id: 'used', expires_at_ms: expiresAtMs }))
    await store.add(bodies('b', { project_id: 'archived', expires_at_ms: expiresAtMs }))
    const rows = async () =>
      await database.query.selectFrom('call_bodies').select(['id', 'expires_at_ms']).orderBy('id').execute()
    t.same(await rows(), [
      { id: 'a', expires_at_ms: expiresAtMs },
      { id: 'b', expires_at_ms: 0 }
    ])
    await store.expire(Date.now(), 90)
    t.same(await rows(), [{ id: 'a', expires_at_ms: expiresAtMs }])
  }
)

storeTest('nothing remains of bodies that expire while they are stored', async (t, open) => {
  const database = await open()
  const store = new CallBodyStore(database)
  const lock = lockedAfterFirstPiece()
  const slow = new CallBodyStore({ ...database, query: database.query.withPlugin(lock.plugin) })
  const storing = slow.add(bodies('a', { answer: body('x'.repeat(900_000)) }))
  await lock.reached
  await store.expireProject('p')
  await store.expire(Date.now(), 90)
  lock.release()
  await storing
  for (const table of ['call_bodies', 'text_pieces'] as const) {
    t.same(await database.query.selectFrom(table).selectAll().execute(), [], table)
  }
})

storeTest('deleting a project hides the bodies of its calls at once, and no others', async (t, open) => {
  const database = await open()
  const store = new CallBodyStore(database)
  await store.add(bodies('a'))
  await store.expireProject('other')
  t.match(await database.query.selectFrom('call_bodies').selectAll().execute(), [
    { id: 'a', state: 'kept', expires_at_ms: 10 * day }
  ])
  await store.expireProject('p')
  t.match(await database.query.selectFrom('call_bodies').selectAll().execute(), [{ expires_at_ms: 0 }])
})
