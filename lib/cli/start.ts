/** `headgate start`: runs one process, or a primary process and its workers. */

import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { readSettings } from '../config/read-settings.ts'
import { flushed, processLog } from '../log/log.ts'
import { urlOf } from '../http/listen.ts'
import { announce } from '../process/announce.ts'
import type { Command } from './command.ts'
import type { ExitCode, Terminal } from '../process/terminal.ts'
import { closeGoneTerminalAtExit } from '../process/close-gone-terminal.ts'
import { exitIfStopHangs } from '../process/exit.ts'
import { createFirstKey } from '../process/create-first-key.ts'
import { createFirstLink } from '../process/create-first-link.ts'
import { runPrimary } from '../process/primary.ts'
import { noteRunning } from '../process/running-gateway.ts'
import { runWorker } from '../process/worker.ts'
import { stopWithNpm } from '../process/stop-with-npm.ts'
import { checkTlsFiles, warnOfCertificates } from '../process/check-certificates.ts'
import { logEmptyStore, logLowFileLimit, logWarnings, serve, type ServeOptions } from '../process/serve.ts'
import { stopSignal } from '../process/signals.ts'

export const start: Command = {
  usage: `Usage: headgate start [-c FILE]

Runs the gateway until SIGTERM or SIGINT. Open calls then have time to finish; a second signal exits
immediately. SIGHUP, or a change of the configuration file, reloads the configuration. Started on a
terminal, it stops with SIGHUP, which it gets when that is closed.

Without a configuration it listens on http://127.0.0.1:8080, creates an API key, and uses the providers
whose keys are in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...), or a simulator if there are
none.

  -c, --config FILE   default: HEADGATE_CONFIG, else headgate.yaml if it exists

Environment variables override the file: PORT, HOST, HEADGATE_WORKERS,
HEADGATE_LOG_LEVEL, HEADGATE_DATA_DIR, ...`,

  run: async (args, terminal) => {
    const { values: { config: file } } = parseArgs({
      args: [...args], options: { config: { type: 'string', short: 'c' } }
    })
    const sources = { env: terminal.env, cwd: terminal.cwd, file }
    closeGoneTerminalAtExit()
    if (cluster.isWorker) return await runWorker(sources)
    const { settings, hasFile, hasEntries, text, warnings } = readSettings(sources)
    const started = { settings, hasFile, hasEntries, text }
    const options = { sources, started, log: processLog(settings.server) }
    stopWithNpm(terminal.env)
    logWarnings(warnings, options.log)
    logLowFileLimit(settings.server, options.log)
    logEmptyStore(settings, options.log)
    await checkTlsFiles(settings.server)
    warnOfCertificates(settings, options.log)
    if (settings.server.workers > 1) return await runPrimary(options, terminal)
    return await runSingle(options, terminal)
  }
}

async function runSingle (options: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const { log, started: { settings } } = options
  const stop = stopSignal()
  const serving = await serve({
    ...options,
    prepare: async keys => await createFirstKey(keys, terminal),
    prepareLink: async database => await createFirstLink(database, settings, terminal)
  })
  announce({ ...serving, settings, models: serving.gateway.services.models }, log, terminal)
  const forget = noteRunning(settings.server.dataDir, urlOf(serving.address), log)
  await stop
  forget()
  log.info('draining open calls; signal again to exit immediately')
  exitIfStopHangs(settings.server)
  await serving.close()
  log.info('stopped')
  await flushed(log)
  return 0
}
