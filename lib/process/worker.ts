/** Runs a worker: serves, and stops when its primary process says so instead of on signals. */

import cluster from 'node:cluster'
import type { AppliedConfiguration, ConfigSources } from '../config/read-settings.ts'
import { outlivePrimary } from '../http/node-internals.ts'
import { OtherVersionError, receiveConfiguration, reportReload } from '../config/shared-configuration.ts'
import { WorkerLimiter } from '../limits/worker-limiter.ts'
import { flushed, processLog, type Log } from '../log/log.ts'
import { answerMetricsMessages } from '../telemetry/shared-metrics.ts'
import { CommandError, type ExitCode } from './terminal.ts'
import { StoreError } from '../stores/store-error.ts'
import { sendMessage } from '../async/ipc.ts'
import { beatEveryMs } from './heartbeats.ts'
import { exitIfStopHangs } from './exit.ts'
import { waitToListen } from './wait-to-listen.ts'
import { serve, type Serving } from './serve.ts'

/** Sent by the primary. */
export const stopMessage = 'stop'

/** Sent to the primary every second; see `Heartbeats`. */
const aliveMessage = 'alive'

/** Sent to the primary if the worker could not start. */
export interface StartFailure {
  readonly failure: string
}

/** True for errors that a person can fix, who needs only their message. */
function isStartFailure (error: unknown): error is Error {
  return error instanceof CommandError || error instanceof StoreError || error instanceof OtherVersionError
}

export async function runWorker (sources: ConfigSources): Promise<ExitCode> {
  const stop = stopMessageReceived()
  const limiter = new WorkerLimiter(process)
  // A worker that does not serve yet has nothing to end, and would wait for its primary forever.
  const exit = (): void => process.exit(1)
  process.once('disconnect', exit)
  if (!process.connected) exit()
  let log: Log
  let started: AppliedConfiguration
  let serving: Serving
  try {
    const inEffect = await receiveConfiguration(process)
    const { current } = inEffect
    started = inEffect.started
    log = processLog(current.settings.server)
    serving = await serve({
      sources, started, current, log, limiter,
      onReload: next => reportReload(process, next),
      waitToListen: async () => await waitToListen(process),
      publishMetrics: families => answerMetricsMessages(process, families)
    })
  } catch (error) {
    if (!isStartFailure(error)) throw error
    // All workers fail in the same way; the primary reports it once.
    await send({ failure: error.message })
    return 1
  }
  process.off('disconnect', exit)
  const heartbeat = setInterval(() => sendMessage(process, aliveMessage), beatEveryMs)
  await stop
  clearInterval(heartbeat)
  exitIfStopHangs(started.settings.server)
  await serving.close()
  limiter.flush()
  await flushed(log)
  return 0
}

/**
 * Resolves when the primary sends the stop message or has exited, which also allows open calls to end.
 * Signals are ignored: Ctrl-C reaches the whole process group, and together with the primary's message would
 * count as a second signal. So does the SIGHUP of a closing terminal; the watcher of the configuration
 * handles SIGHUP as well.
 */
async function stopMessageReceived (): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
  if (cluster.worker !== undefined) outlivePrimary(cluster.worker)
  await new Promise<void>(resolve => {
    process.on('message', message => { if (message === stopMessage) resolve() })
    process.on('disconnect', resolve)
  })
}

async function send (message: StartFailure): Promise<void> {
  await new Promise<void>(resolve => {
    if (process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}
