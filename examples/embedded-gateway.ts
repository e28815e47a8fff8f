/**
 * The complete gateway inside a program of your own, with keys from wherever you keep them.
 *
 *     npx tsc && node embedded-gateway.js
 */

import { createGateway, createLog, type Gateway } from 'headgate'
import { loadSettings } from 'headgate/config'

/**
 * Starts a gateway with the configuration of this folder and environment. Callers present
 * `secret`; nothing is stored.
 */
export async function startGateway (
  env: NodeJS.ProcessEnv,
  cwd: string
): Promise<{ gateway: Gateway, url: string }> {
  const settings = loadSettings({ env, cwd })
  const keys = { check: (presented: string) => presented === 'secret' ? { id: '1', name: 'me' } : undefined }
  const gateway = await createGateway(settings, { keys, log: createLog('warn') })
  const { host, port } = await gateway.listen()
  return { gateway, url: `http://${host}:${port}` }
}

if (process.argv[1] === import.meta.filename) {
  const { url } = await startGateway(process.env, process.cwd())
  console.log(`listening on ${url}; the key is "secret"`)
}
