/**
 * Headgate in a process of its own, as in production: keys, limits, validation, usage and the log
 * are on; the log goes to standard output, which the parent turns into a file.
 *
 * Run as `node gateway.js <port> <upstream port> [processes]`.
 */

import cluster from 'node:cluster'
import { createHash } from 'node:crypto'
import { createGateway } from '../../lib/gateway.ts'
import { createLog } from '../../lib/telemetry/log.ts'
import { benchKey, benchSettings } from './settings.ts'

const [port = 0, upstreamPort = 0, processes = 1] = process.argv.slice(2).map(Number)

if (cluster.isPrimary && processes > 1) {
  for (let index = 0; index < processes; index++) cluster.fork()
  process.once('SIGTERM', () => cluster.disconnect(() => process.exit(0)))
} else {
  await serve()
}

async function serve (): Promise<void> {
  const digest = (key: string): string => createHash('sha256').update(key).digest('base64')
  const keys = new Map([[digest(benchKey), { id: 'key-bench', name: 'bench' }]])
  const gateway = await createGateway(benchSettings(port, upstreamPort), {
    keys: { check: presented => keys.get(digest(presented)) },
    log: createLog('info')
  })
  await gateway.listen()
  // By way of `exit`, so that `--cpu-prof` gets to write its file.
  process.once('SIGTERM', () => { void gateway.close().then(() => process.exit(0)) })
}
