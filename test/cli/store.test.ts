import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate } from '../support/command.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

storeTest('a store is copied and verified', async (t, open, place) => {
  const cwd = t.testdirName
  const source = await openDatabase(join(cwd, 'old'))
  t.teardown(source.close)
  await source.insertUsage([usageRowOf(1), usageRowOf(2)])
  const url = place.store.url?.reveal()
  const env = { TARGET: url ?? `sqlite:${place.server.dataDir}` }
  const target = await open()
  t.match(await headgate(t, ['store', 'copy', '--from', 'sqlite:old', '--to', 'env:TARGET'], cwd, env), {
    code: 0,
    out: `Copied ${source.name} to ${target.name}; numbers of rows and sums are the same.`,
    error: /usage: 2 of 2 rows/
  })
  t.equal((await target.query.selectFrom('usage').select('id').execute()).length, 2)
  if (url !== undefined) return
  const configured = { HEADGATE_DATA_DIR: place.server.dataDir }
  t.match(await headgate(t, ['store', 'migrate'], cwd, configured), {
    code: 0,
    out: `The tables of ${target.name} are up to date.`
  })
  t.match(await headgate(t, ['store', 'check'], cwd, configured), {
    code: 0,
    out: /is writable\.[^]*users +0\n[^]*usage +2\nusage_rollups +2\n[^]*text_pieces +0\n[^]*$/
  })
})

t.test('missing or invalid arguments are wrong usage', async t => {
  const cwd = t.testdir()
  t.match(await headgate(t, ['store', 'copy', '--from', 'sqlite:old'], cwd, {}), {
    code: 2,
    error: /--from STORE and --to STORE are required/
  })
  t.match(await headgate(t, ['store', 'copy', '--from', 'mysql://x', '--to', 'sqlite:new'], cwd, {}), {
    code: 2,
    error: /a store must be sqlite:DIRECTORY or postgres:/
  })
  t.match(await headgate(t, ['store', 'copy', '--from', 'env:NONE', '--to', 'sqlite:new'], cwd, {}), {
    code: 2,
    error: /env:NONE must be/
  })
  t.match(await headgate(t, ['store', 'chekc'], cwd, {}), { code: 2, error: /did you mean "check"\?/ })
})

t.test('a store that does not exist is neither copied nor created', async t => {
  const cwd = t.testdir()
  t.match(await headgate(t, ['store', 'copy', '--from', 'sqlite:none', '--to', 'sqlite:new'], cwd, {}), {
    code: 1,
    error: /there is no store at/
  })
  t.notOk(existsSync(join(cwd, 'none')) || existsSync(join(cwd, 'new')))
})
