import { join } from 'node:path'
import t from 'tap'
import { run } from '../../lib/cli/run.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

async function store (cwd: string, env: Record<string, string>, ...args: readonly string[]) {
  const out: string[] = []
  const error: string[] = []
  const code = await run(['store', ...args], { env, cwd, out: text => out.push(text), notice: text => out.push(text), error: text => error.push(text), interactive: false })
  return { code, out: out.join('\n'), error: error.join('\n') }
}

storeTest('a store is copied, and checked', async (t, open, place) => {
  const cwd = t.testdirName
  const source = await openDatabase(join(cwd, 'old'))
  t.teardown(source.close)
  await source.insertUsage([usageRowOf(1), usageRowOf(2)])
  const url = place.store.url?.reveal()
  const env = { TARGET: url ?? `sqlite:${place.server.dataDir}` }
  const target = await open()
  t.match(await store(cwd, env, 'copy', '--from', 'sqlite:old', '--to', 'env:TARGET'), {
    code: 0, out: `Copied ${source.name} to ${target.name}; numbers of rows and sums are the same.`, error: /usage: 2 of 2 rows/
  })
  t.equal((await target.query.selectFrom('usage').select('id').execute()).length, 2)
  if (url !== undefined) return
  const configured = { HEADGATE_DATA_DIR: place.server.dataDir }
  t.match(await store(cwd, configured, 'migrate'), { code: 0, out: `The tables of ${target.name} are those of this version.` })
  t.match(await store(cwd, configured, 'check'), { code: 0, out: /is writable\.[^]*usage +2\n/ })
})

t.test('what is missing or no store is wrong usage', async t => {
  const cwd = t.testdir()
  t.match(await store(cwd, {}, 'copy', '--from', 'sqlite:old'), { code: 2, error: /--from STORE and --to STORE are required/ })
  t.match(await store(cwd, {}, 'copy', '--from', 'mysql://x', '--to', 'sqlite:new'), { code: 2, error: /a store must be sqlite:DIRECTORY or postgres:/ })
  t.match(await store(cwd, {}, 'copy', '--from', 'env:NONE', '--to', 'sqlite:new'), { code: 2, error: /env:NONE must be/ })
  t.match(await store(cwd, {}, 'chekc'), { code: 2, error: /did you mean "check"\?/ })
})
