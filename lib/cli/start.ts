/** `headgate start`: one process, or a primary process and its workers. */

import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { readSettings } from '../config/read-settings.ts'
import { createLog, flushed } from '../telemetry/log.ts'
import { announce } from '../process/announce.ts'
import type { Command } from './command.ts'
import type { ExitCode, Terminal } from '../process/terminal.ts'
import { firstKey } from '../process/first-key.ts'
import { logWarnings, serve, type ServeOptions } from '../process/serve.ts'
import { stopSignal } from '../process/signals.ts'

export const start: Command = {
  usage: `Usage: headgate start [-c FILE]

Runs the gateway until SIGTERM or SIGINT: then calls under way may end, and a second signal stops
at once. SIGHUP, and a change of the configuration file, take the new configuration over.

Without a configuration it listens on http://localhost:8080, makes an API key, and answers with
the providers whose keys are in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...); without
any, with a simulator.

  -c, --config FILE   default: HEADGATE_CONFIG, else headgate.yaml where there is one

The environment (PORT, HOST, HEADGATE_WORKERS, HEADGATE_LOG_LEVEL, HEADGATE_DATA_DIR, ...) wins
over the file.`,

  run: async (args, terminal) => {
    const { values: { config: file } } = parseArgs({
      args: [...args], options: { config: { type: 'string', short: 'c' } }
    })
    const sources = { env: terminal.env, cwd: terminal.cwd, file }
    const { settings, warnings } = readSettings(sources)
    const options = { sources, settings, log: createLog(settings.server.logLevel) }
    if (cluster.isWorker) return await (await import('../process/worker.ts')).runWorker(options)
    logWarnings(warnings, options.log)
    if (settings.server.workers > 1) return await (await import('../process/primary.ts')).runPrimary(options, terminal)
    return await alone(options, terminal)
  }
}

async function alone (options: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const { log } = options
  const stop = stopSignal()
  const serving = await serve({ ...options, prepare: firstKey })
  announce({ ...serving, settings: options.settings, models: serving.gateway.services.models }, log, terminal)
  await stop
  log.info('draining: calls under way may end; a second signal stops at once')
  await serving.close()
  await flushed(log)
  return 0
}
