import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate } from '../support/command.ts'

t.test('a command reports a locked store in one sentence', async t => {
  const directory = t.testdir()
  const database = await openDatabase(join(directory, '.headgate'))
  t.teardown(database.close)
  const connection = await database.query.startTransaction().execute()
  await connection.deleteFrom('secrets').execute()
  const create = async () => await headgate(t, ['keys', 'create', '--name', 'late'], directory)
  t.match(await create(), { code: 1, error: /^headgate keys: [^\n]*database is locked\.[^\n]*$/ })
  await connection.rollback().execute()
  t.match(await create(), { code: 0 })
})
