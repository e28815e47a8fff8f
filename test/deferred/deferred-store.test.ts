import { renameSync } from 'node:fs'
import t from 'tap'
import { DeferredStore } from '../../lib/deferred/deferred-store.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { lockedAfterFirstPiece, storeTest } from '../support/stores.ts'

const row = { id: 'a', keyId: 'key-1' }
const later = 1_000_000

storeTest(
  'a completion is fetched by one process at a time, and again only if that dies',
  async (t, open) => {
    const store = new DeferredStore(await open())
    t.equal(await store.claim(row, { owner: 'one', untilMs: 100 }, later, 0), 'first')
    t.equal(await store.claim(row, { owner: 'two', untilMs: 200 }, later, 99), undefined)
    t.equal(await store.claim(row, { owner: 'two', untilMs: 200 }, later, 100), 'again')
    t.equal(
      await store.finish('a', 'one', { status: 200, body: 'late' }, later),
      false,
      'the first can no longer finish'
    )
    t.equal(await store.finish('a', 'two', { status: 200, body: '{"ä":1}' }, later), true)
    t.match(await store.find('a', 0), {
      state: 'done',
      status: 200,
      body: '{"ä":1}',
      owner: 'two',
      task: null,
      size_bytes: 8
    })
    t.equal(await store.finish('a', 'two', { status: 500, body: 'x' }, later), false, 'a finished one stays')
    t.equal(await store.claim(row, { owner: 'one', untilMs: later }, later, later - 1), undefined)
  }
)

storeTest(
  'its owner may forget a completion, or release it to be retried',
  async (t, open) => {
    const store = new DeferredStore(await open())
    await store.claim(row, { owner: 'one', untilMs: 100 }, later, 0)
    await store.forget('a', 'two')
    t.ok(await store.find('a', 0), 'only by its owner')
    await store.release('a', 'one')
    t.equal(await store.claim(row, { owner: 'two', untilMs: 100 }, later, 0), 'again')
    await store.forget('a', 'two')
    t.equal(await store.find('a', 0), undefined)
  }
)

storeTest('keys take turns: the oldest task of the key with the fewest running ones is next', async (t, open) => {
  const store = new DeferredStore(await open())
  for (const [index, id] of ['a3', 'a1', 'a2', 'b4', 'b5'].entries()) {
    const keyId = id.startsWith('a') ? 'one' : 'two'
    t.ok(await store.add({ id, keyId, task: String(index) }, later + Number(id[1]), 10), id)
  }
  const taken: string[] = []
  for (let number = 0; number < 5; number++) {
    taken.push((await store.take({ owner: 'o', untilMs: 100 }, 0))?.id ?? 'none')
  }
  t.same(taken, ['a1', 'b4', 'a2', 'b5', 'a3'])
})

storeTest('a task is queued, leased, renewed, returned and finished', async (t, open) => {
  const store = new DeferredStore(await open())
  t.equal(await store.add({ ...row, task: '{}' }, later, 10), true)
  t.strictSame(await store.take({ owner: 'one', untilMs: 100 }, 0), { id: 'a', task: '{}', attempts: 1 })
  t.equal(await store.take({ owner: 'two', untilMs: 100 }, 99), undefined)
  t.equal(await store.renew('a', { owner: 'one', untilMs: 300 }), true)
  t.equal(await store.renew('a', { owner: 'two', untilMs: 300 }), false)
  t.equal(await store.take({ owner: 'two', untilMs: 100 }, 200), undefined, 'the lease was renewed')
  t.match(await store.take({ owner: 'two', untilMs: 400 }, 300), { attempts: 2 }, 'its owner has died')
  await store.requeue('a', 'two')
  t.match(
    await store.take({ owner: 'three', untilMs: 500 }, 0),
    { attempts: 2 },
    'a returned run is not an attempt'
  )
  t.equal(await store.finish('a', 'three', { status: 200, body: '{}' }, later), true)
  t.equal(await store.take({ owner: 'one', untilMs: 500 }, later - 1), undefined)
})

storeTest('a task still running here is not taken, although its lease has ended', async (t, open) => {
  const store = new DeferredStore(await open())
  for (const id of ['a', 'b']) await store.add({ id, keyId: 'key-1', task: '{}' }, later, 10)
  t.equal(await store.take({ owner: 'one', untilMs: 100 }, 0, { except: ['a', 'b'] }), undefined)
  t.match(await store.take({ owner: 'one', untilMs: 100 }, 0, { except: ['a'] }), { id: 'b' })
})

storeTest(
  'processes that take tasks at the same moment get different ones, and without a lease none is stored',
  async (t, open) => {
    const stores = (await Promise.all([open(), open(), open()])).map(database => new DeferredStore(database))
    const [first] = stores
    if (first === undefined) throw new Error('no store')
    const ids = Array.from({ length: 12 }, (_, number) => `task-${number}`)
    for (const id of ids) t.ok(await first.add({ id, keyId: 'key-1', task: '{}' }, later, 100))
    const takeAll = async (store: DeferredStore, owner: string): Promise<string[]> => {
      const task = await store.take({ owner, untilMs: 100 }, 0)
      return task === undefined ? [] : [task.id, ...(await takeAll(store, owner))]
    }
    const taken = await Promise.all(
      stores.map(async (store, number) => await takeAll(store, `owner-${number}`))
    )
    t.same(taken.flat().toSorted(), ids.toSorted(), 'each exactly once')
    const id = (await first.take({ owner: 'heir', untilMs: 200 }, 100))?.id ?? ''
    const loser = taken.findIndex(list => list.includes(id))
    t.ok(loser >= 0)
    t.equal(await first.finish(id, `owner-${loser}`, { status: 200, body: 'late' }, later), false)
    t.equal(await first.finish(id, 'heir', { status: 200, body: 'kept' }, later), true)
    t.equal((await first.find(id, 0))?.body, 'kept')
  }
)

storeTest('a cancelled or expired task is not run', async (t, open) => {
  const store = new DeferredStore(await open())
  await store.add({ ...row, task: '{}' }, 100, 10)
  t.equal(await store.take({ owner: 'one', untilMs: 500 }, 100), undefined)
  t.equal(await store.cancel('a'), true)
  t.equal(await store.cancel('a'), false)
  t.equal(await store.find('a', 0), undefined)
  await store.add({ ...row, task: '{}' }, 100, 10)
  await store.expire(99)
  t.ok(await store.find('a', 0))
  await store.expire(100)
  t.equal(await store.find('a', 0), undefined)
})

storeTest('a key may use at most half of the places that others leave free', async (t, open) => {
  const store = new DeferredStore(await open())
  const add = async (keyId: string, from: number): Promise<number> => {
    let added = 0
    const add = async (): Promise<boolean> =>
      await store.add({ id: `${keyId}-${from + added}`, keyId, task: '{}' }, later, 8)
    while (added < 100 && await add()) {
      added++
    }
    return added
  }
  t.equal(await add('one', 0), 4)
  t.equal(await add('two', 0), 2)
  t.equal(await add('three', 0), 1)
})

storeTest('the bytes of a key are those of its tasks and answers', async (t, open) => {
  const store = new DeferredStore(await open())
  t.equal(await store.keptBytes('key-1'), 0)
  await store.add({ ...row, task: 'ää' }, later, 10)
  await store.add({ id: 'b', keyId: 'key-2', task: 'xxx' }, later, 10)
  t.equal(await store.keptBytes('key-1'), 4)
  await store.take({ owner: 'one', untilMs: 100 }, 0)
  await store.finish('a', 'one', { status: 200, body: 'x'.repeat(9) }, later)
  t.equal(await store.keptBytes('key-1'), 9)
})

t.test('a store whose file is missing gives an error with a retry time', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const { path } = database
  const store = new DeferredStore(database)
  renameSync(path, `${path}.gone`)
  await t.rejects(store.find('a', 0), {
    code: 'overloaded',
    retryAfterSeconds: 5,
    message: 'Deferred completions are temporarily unavailable. Try again later.'
  })
})

storeTest(
  'long tasks and answers are stored in pieces, and the answer replaces the task',
  async (t, open) => {
    const database = await open()
    const store = new DeferredStore(database)
    const task = JSON.stringify('ä'.repeat(700_000))
    const body = JSON.stringify('€'.repeat(700_000))
    t.equal(await store.add({ ...row, task }, later, 10), true)
    const leased = await store.take({ owner: 'one', untilMs: 100 }, 0)
    t.ok(leased?.task === task)
    t.equal(
      await store.finish('a', 'two', { status: 200, body: JSON.stringify('x'.repeat(100_000)) }, later),
      false
    )
    t.equal(await store.finish('a', 'one', { status: 200, body }, later), true)
    t.same(await database.query.selectFrom('text_pieces').select('name').distinct().execute(), [
      { name: 'body-one' }
    ])
    let taken = 0
    const found = await store.find('a', 0, bytes => {
      taken += bytes
    })
    t.ok(found?.body === body)
    t.equal(taken, Buffer.byteLength(body))
    await store.add({ id: 'b', keyId: 'key-1', task }, later, 10)
    t.equal(await store.cancel('b'), true)
    await store.expire(later)
    for (const table of ['deferred', 'text_pieces'] as const) {
      t.same(await database.query.selectFrom(table).selectAll().execute(), [], table)
    }
  }
)

storeTest('storing a long answer a second time does not remove it', async (t, open) => {
  const store = new DeferredStore(await open())
  const body = JSON.stringify('x'.repeat(200_000))
  await store.add({ ...row, task: '{}' }, later, 10)
  await store.take({ owner: 'one', untilMs: 100 }, 0)
  t.equal(await store.finish('a', 'one', { status: 200, body }, later), true)
  t.equal(await store.finish('a', 'one', { status: 200, body }, later), false)
  t.ok((await store.find('a', 0))?.body === body)
})

storeTest('placeholders belong to the run whose answer is stored', async (t, open) => {
  const store = new DeferredStore(await open())
  await store.add({ ...row, task: '{}' }, later, 10)
  await store.take({ owner: 'one', untilMs: 100 }, 0)
  await store.take({ owner: 'two', untilMs: later }, 100)
  const answer = { status: 200, body: '{}' }
  t.equal(await store.placeholders('a'), undefined)
  t.equal(await store.finish('a', 'two', { ...answer, placeholders: 'of two' }, later), true)
  const long = 'x'.repeat(400_000)
  t.equal(await store.finish('a', 'one', { status: 200, body: long, placeholders: 'of one' }, later), false)
  t.equal(await store.placeholders('a'), 'of two')
  await store.forget('a', 'two')
  t.match(await store.find('a', 0), answer, 'a stored answer is not forgotten')
})

storeTest('placeholders stored by the previous version are found', async (t, open) => {
  const database = await open()
  const store = new DeferredStore(database)
  await store.add({ ...row, task: '{}' }, later, 10)
  await store.take({ owner: 'one', untilMs: later }, 0)
  await store.finish('a', 'one', { status: 200, body: '{}', placeholders: 'of one' }, later)
  // In the format of the previous version: one name for every run, and answers without an owner.
  await database.query.updateTable('text_pieces').set({ name: 'placeholders' })
    .where('name', '=', 'placeholders-one').execute()
  await database.query.updateTable('deferred').set({ owner: null }).execute()
  t.equal(await store.placeholders('a'), 'of one')
})

storeTest('a task is not taken before it is stored completely', async (t, open) => {
  const database = await open()
  const store = new DeferredStore(database)
  const lock = lockedAfterFirstPiece()
  const slow = new DeferredStore({ ...database, query: database.query.withPlugin(lock.plugin) })
  const adding = slow.add({ ...row, task: JSON.stringify('x'.repeat(900_000)) }, store.now() + later, 10)
  await lock.reached
  t.equal(await store.take({ owner: 'one', untilMs: store.now() + later }, store.now()), undefined)
  lock.release()
  await adding
  t.ok(await store.take({ owner: 'one', untilMs: store.now() + later }, store.now()))
})

storeTest('an answer stored while its completion expires leaves no rows', async (t, open) => {
  const database = await open()
  const store = new DeferredStore(database)
  for (const answer of [
    { status: 200, body: JSON.stringify('x'.repeat(400_000)) },
    { status: 200, body: '{}', placeholders: 's'.repeat(400_000) }
  ]) {
    await store.claim(row, { owner: 'one', untilMs: 100 }, 100, 0)
    const lock = lockedAfterFirstPiece()
    const slow = new DeferredStore({ ...database, query: database.query.withPlugin(lock.plugin) })
    const storing = slow.keep('a', 'one', answer, later)
    await lock.reached
    await store.expire(100)
    lock.release()
    t.equal(await storing, false)
    for (const table of ['deferred', 'text_pieces'] as const) {
      t.same(await database.query.selectFrom(table).selectAll().execute(), [], table)
    }
  }
})

storeTest('a task deleted while it is being stored is not accepted', async (t, open) => {
  const database = await open()
  const store = new DeferredStore(database)
  const tables = ['deferred', 'text_pieces'] as const
  const task = JSON.stringify('x'.repeat(400_000))
  for (const isMarked of [false, true]) {
    const lock = lockedAfterFirstPiece()
    const slow = new DeferredStore({ ...database, query: database.query.withPlugin(lock.plugin) })
    const adding = slow.add({ ...row, task }, store.now() + later, 10)
    await lock.reached
    if (isMarked) {
      // like a process that dies before it has deleted the row
      await database.query.updateTable('deferred').set({ expires_at_ms: 0 }).where('id', '=', 'a').execute()
    } else {
      await store.cancel('a')
    }
    lock.release()
    await t.rejects(adding, { code: 'overloaded', message: /could not be stored in time/ })
    t.equal(await store.find('a', 0), undefined)
    await store.expire(store.now())
    for (const table of tables) {
      t.same(await database.query.selectFrom(table).selectAll().execute(), [], table)
    }
  }
})

storeTest('an answer does not restore a completion that is being deleted', async (t, open) => {
  const database = await open()
  const store = new DeferredStore(database)
  await store.claim(row, { owner: 'one', untilMs: 100 }, later, 0)
  await database.query.updateTable('deferred').set({ expires_at_ms: 0 }).where('id', '=', 'a').execute()
  t.equal(await store.keep('a', 'one', { status: 200, body: '{}' }, later), false)
  t.equal(await store.find('a', 0), undefined)
  await store.expire(0)
  t.same(await database.query.selectFrom('deferred').selectAll().execute(), [])
})
