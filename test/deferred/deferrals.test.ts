import t from 'tap'
import { openDeferrals } from '../../lib/deferred/deferrals.ts'
import { openDatabase } from '../../lib/stores/database.ts'

t.test('processes with one store open the same ids, and have names of their own', async t => {
  const directory = t.testdir()
  const [first, second] = await Promise.all([directory, directory].map(async each => {
    const database = await openDatabase(each)
    t.teardown(database.close)
    return await openDeferrals(database)
  }))
  const ticket = { key: 'k', createdSeconds: 1, modelId: 'm' }
  t.strictSame(second?.tickets.open(first?.tickets.seal(ticket) ?? ''), ticket)
  t.not(first?.owner, second?.owner)
})
