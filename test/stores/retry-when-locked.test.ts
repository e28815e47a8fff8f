import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { retryWhenLocked } from '../../lib/stores/retry-when-locked.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { usageRowOf } from '../support/usage.ts'

t.test("work waits for another program's lock, and is done once", async t => {
  const directory = t.testdir()
  const [locking, database] = [
    await openDatabase(directory),
    await openDatabase(directory, { busyTimeoutMs: 0 })
  ]
  t.teardown(locking.close)
  t.teardown(database.close)
  const lock = await locking.query.startTransaction().execute()
  await lock.deleteFrom('secrets').execute()
  let tries = 0
  await retryWhenLocked(async () => {
    if (++tries === 3) await lock.rollback().execute()
    insertUsage(database, [usageRowOf(1)])
  })
  t.equal(tries, 3)
  t.equal((await database.query.selectFrom('usage').select('id').execute()).length, 1)
})

t.test('other failures are not retried', async t => {
  let tries = 0
  await t.rejects(retryWhenLocked(async () => {
    tries++
    return await Promise.reject(new Error('table is blocked'))
  }), { message: 'table is blocked' })
  t.equal(tries, 1)
})

t.test('a lock that is never released ends the wait', async t => {
  const clock = t.intercept(performance, 'now', { value: () => 0 })
  let tries = 0
  await t.rejects(retryWhenLocked(async () => {
    if (++tries === 2) Object.defineProperty(performance, 'now', { value: () => 5001, configurable: true })
    return await Promise.reject(new Error('database is locked'))
  }), { message: 'database is locked' })
  clock.restore()
  t.equal(tries, 2)
})
