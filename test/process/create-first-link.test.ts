import t from 'tap'
import { Accounts } from '../../lib/accounts/accounts.ts'
import { createFirstLink } from '../../lib/process/create-first-link.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { settings } from '../support/settings.ts'

t.test('a link is created once, for a person at a terminal', async t => {
  const database = await openSqlite(t.testdir())
  t.teardown(database.close)
  const accounts = new Accounts(database)
  t.equal(
    await createFirstLink(database, settings(), { interactive: false }),
    undefined,
    'a log is no place for it'
  )
  t.equal(
    await createFirstLink(
      database,
      settings({ dashboard: { enabled: false, insecure: false, editConfig: false } }),
      { interactive: true }
    ),
    undefined
  )
  t.notOk(await accounts.users.exist())
  const token = await createFirstLink(database, settings(), { interactive: true }) ?? ''
  t.equal(await createFirstLink(database, settings(), { interactive: true }), undefined)
  const owner = await accounts.users.firstOwner()
  t.equal(await accounts.links.useSignIn(token), owner?.id)
})
