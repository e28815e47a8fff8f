import { join } from 'node:path'
import t from 'tap'
import { run } from '../../lib/cli/run.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'

t.test('a command that the store does not let write says so in a sentence', async t => {
  const directory = t.testdir()
  const database = await openDatabase(join(directory, '.headgate'))
  t.teardown(database.close)
  const connection = await database.query.startTransaction().execute()
  await connection.deleteFrom('secrets').execute()
  const error: string[] = []
  const terminal = { env: {}, cwd: directory, interactive: false, out: () => undefined, notice: () => undefined, error: (text: string) => { error.push(text) } }
  t.equal(await run(['keys', 'create', '--name', 'late'], terminal), 1)
  t.match(error, [/^headgate keys: [^\n]*database is locked\.[^\n]*$/])
  await connection.rollback().execute()
  t.equal(await run(['keys', 'create', '--name', 'late'], terminal), 0)
})
