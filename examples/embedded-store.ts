/**
 * The complete gateway inside a program of your own, with the store of `headgate start`: keys, usage records,
 * stored responses, deferred completions and the dashboard.
 *
 *     npx tsc && node embedded-store.js
 */

import { createGateway, createLog, openDatabase, openKeyStore, type KeyStore } from 'headgate'
import { loadSettings } from 'headgate/config'

export interface Running {
  readonly url: string
  readonly keys: KeyStore
  readonly close: () => Promise<void>
}

/**
 * Starts a gateway with the configuration of this folder and environment, and with the store that it names.
 */
export async function startGateway (env: NodeJS.ProcessEnv, cwd: string): Promise<Running> {
  const settings = loadSettings({ env, cwd })
  const database = await openDatabase(settings)
  // a connection that waits for no lock
  const usageDatabase = await openDatabase(settings, { busyTimeoutMs: 0 })
  const keys = await openKeyStore(database, settings.keys)
  const gateway = await createGateway(settings, {
    keys,
    keyStore: keys,
    database,
    usageDatabase,
    log: createLog('warn')
  })
  const { host, port } = await gateway.listen()
  const close = async (): Promise<void> => {
    await gateway.close()
    keys.close()
    await usageDatabase.close()
    await database.close()
  }
  return { url: `http://${host}:${port}`, keys, close }
}

if (process.argv[1] === import.meta.filename) {
  const { url, keys } = await startGateway(process.env, process.cwd())
  console.log(`listening on ${url}`)
  if ((await keys.list()).length === 0) {
    console.log(`the key is ${(await keys.create({ name: 'first' })).key}`)
  }
}
