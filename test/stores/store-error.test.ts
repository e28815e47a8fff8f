import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { isDatabaseError, StoreError } from '../../lib/stores/store-error.ts'

t.test('the message names the file and the reason', async t => {
  const cause = new Error('disk full')
  const error = new StoreError('/data/headgate.db', cause)
  t.strictSame(
    [error.message, error.name, error.cause],
    ['The store /data/headgate.db cannot be used: disk full.', 'StoreError', cause]
  )
  t.equal(new StoreError('/x', 'no reason').message, 'The store /x cannot be used: no reason.')
})

t.test('errors of SQLite are distinguished from all others', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const error: unknown = await database.query
    .selectFrom('nothing' as 'keys')
    .selectAll()
    .execute()
    .catch((error: unknown) => error)
  t.equal(isDatabaseError(error), true)
  t.same(
    [new Error('x'), Object.assign(new Error('x'), { code: 'ENOENT' }), 'ERR_SQLITE_ERROR', null].map(
      isDatabaseError
    ),
    [false, false, false, false]
  )
})
