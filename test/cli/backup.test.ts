import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { SqliteDatabase } from '../../lib/stores/database.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { headgate } from '../support/command.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'

async function open (t: Test, directory: string): Promise<SqliteDatabase> {
  const database = await openDatabase(directory)
  t.teardown(database.close)
  return database
}

t.test('a backup is a complete store, even while a gateway writes to it', async t => {
  const directory = t.testdir({ copy: {} })
  const database = await open(t, join(directory, '.headgate'))
  insertUsage(database, [usageRowOf(1), usageRowOf(2)])
  const copy = join(directory, 'copy', 'headgate.db')
  t.match(await headgate(t, ['backup', 'copy/headgate.db'], directory), {
    code: 0,
    out: /^Copied \S+ to \S+\.$/,
    error: ''
  })
  insertUsage(database, [usageRowOf(3)])
  t.equal(statSync(copy).mode & 0o777, 0o600)
  const restored = await open(t, dirname(copy))
  t.same(await restored.query.selectFrom('usage').select('id').execute(), [{ id: 'row-1' }, { id: 'row-2' }])
})

t.test('a backup overwrites nothing, creates no store, and reports why it failed', async t => {
  const empty = t.testdir()
  t.match(await headgate(t, ['backup', 'copy.db'], empty), { code: 1, error: /there is no store at/ })
  t.throws(() => statSync(join(empty, '.headgate')), { code: 'ENOENT' })
  await (await openDatabase(join(empty, '.headgate'))).close()
  writeFileSync(join(empty, 'kept'), 'text')
  t.match(await headgate(t, ['backup', 'kept'], empty), {
    code: 1,
    error: /kept exists already; name a new file/
  })
  t.match(await headgate(t, ['backup', 'none/copy.db'], empty), {
    code: 1,
    error: /cannot write \S+copy.db: ENOENT/
  })
  t.match(await headgate(t, ['backup'], empty), {
    code: 2,
    error: /the file to write the copy to is required/
  })
})
