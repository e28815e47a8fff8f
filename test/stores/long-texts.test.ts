import { isLong, LongTexts } from '../../lib/stores/long-texts.ts'
import { statementRunner } from '../../lib/stores/use-store.ts'
import { lockedAfterFirstPiece, storeTest, type OpenStore } from '../support/stores.ts'

async function open (openStore: OpenStore) {
  const database = await openStore()
  for (const id of ['a', 'b', 'c']) {
    const row = { id, key_id: 'key-1', size_bytes: 0, state: 'queued' as const, lease_until_ms: 0 }
    await database.query.insertInto('deferred').values({ ...row, attempts: 0, expires_at_ms: 1 }).execute()
  }
  return {
    database,
    texts: new LongTexts(database, statementRunner(database, 'Texts'), 'deferred'),
    pieces: async () =>
      await database.query
        .selectFrom('text_pieces')
        .select(['owner_id', 'name', 'number'])
        .orderBy('owner_id')
        .orderBy('name')
        .orderBy('number')
        .execute()
  }
}

const long = (letter: string): string => `${letter.repeat(131_071)}🎈${letter.repeat(200_000)}`

storeTest('a long text is stored in pieces, and read back unchanged', async (t, openStore) => {
  const { texts, pieces } = await open(openStore)
  t.equal(isLong('short'), false)
  t.equal(await texts.put('a', 'body', 'short'), 'short')
  t.equal(await texts.get('a', 'short'), 'short')
  t.same(await pieces(), [])
  const inRow = await texts.put('a', 'body', long('x'))
  t.ok(inRow.length < 100)
  t.equal((await pieces()).length, 3)
  t.equal(await texts.get('a', inRow), long('x'))
  t.equal(await texts.get('b', inRow), undefined, 'that of another owner')
})

storeTest('a second text replaces the first one', async (t, openStore) => {
  const { texts } = await open(openStore)
  await texts.put('a', 'body', long('x'))
  t.equal(await texts.get('a', await texts.put('a', 'body', long('y'))), long('y'))
})

storeTest('the texts of owners are deleted, all or those of some names', async (t, openStore) => {
  const { texts, pieces } = await open(openStore)
  for (const owner of ['a', 'b', 'c']) {
    for (const name of ['body', 'answer']) await texts.put(owner, name, long('x'))
  }
  await texts.remove([])
  t.equal((await pieces()).length, 18)
  await texts.remove(['a', 'b'], ['answer'])
  await texts.remove(['c'])
  t.same(
    new Set((await pieces()).map(({ owner_id, name }) => `${owner_id} ${name}`)),
    new Set(['a body', 'b body'])
  )
})

storeTest('an owner that is deleted, or is being deleted, gets no text', async (t, openStore) => {
  const { database, texts, pieces } = await open(openStore)
  await texts.put('none', 'body', long('x'))
  t.same(await pieces(), [], 'there is no such row')
  const lock = lockedAfterFirstPiece()
  const slow = new LongTexts(
    { ...database, query: database.query.withPlugin(lock.plugin) },
    statementRunner(database, 'Texts'),
    'deferred'
  )
  const writing = slow.put('a', 'body', long('x'))
  await lock.reached
  await texts.end(['a'])
  lock.release()
  await writing
  t.same(await pieces(), [], 'what is written while it is deleted')
  await texts.put('b', 'body', long('x'))
  t.equal((await pieces()).length, 3, 'another one')
})
