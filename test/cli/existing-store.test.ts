import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requireStore } from '../../lib/cli/existing-store.ts'
import { Secret } from '../../lib/core/secret.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { settings } from '../support/settings.ts'

t.test('an embedded store must exist; one on a server is found by its address', async t => {
  const dataDir = join(t.testdir(), 'data')
  const { url: _, ...store } = settings().store
  const embedded = { server: { dataDir }, store }
  t.throws(() => requireStore(embedded), /there is no store at/)
  mkdirSync(dataDir)
  t.throws(() => requireStore(embedded), /there is no store at/)
  await (await openSqlite(dataDir)).close()
  t.doesNotThrow(() => requireStore(embedded))
  t.doesNotThrow(() => requireStore({
    server: { dataDir: join(dataDir, 'none') },
    store: { ...store, url: new Secret('postgres://127.0.0.1/x') }
  }))
})
