/** A worker: serves, and obeys its primary process instead of signals. */

import { workerLimiter } from '../limits/shared-limiter.ts'
import { flushed } from '../telemetry/log.ts'
import { serveMetricsRequests } from '../telemetry/shared-metrics.ts'
import { CommandError, type ExitCode } from './terminal.ts'
import { StoreError } from '../stores/database.ts'
import { serve, type ServeOptions, type Serving } from './serve.ts'

/** Primary to worker. */
export const stopMessage = 'stop'

/** Worker to primary: why it could not start. */
export interface StartFailure {
  readonly failure: string
}

export async function runWorker (options: ServeOptions): Promise<ExitCode> {
  const stop = stopOrder()
  let serving: Serving
  try {
    serving = await serve({
      ...options, limiter: workerLimiter(process), tellMetrics: families => serveMetricsRequests(process, families)
    })
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof StoreError)) throw error
    // All workers fail alike; the primary says it once.
    await send({ failure: error.message })
    return 1
  }
  await stop
  await serving.close()
  await flushed(options.log)
  return 0
}

/**
 * Signals reach a whole group of processes: Ctrl-C once by the terminal and once more by the
 * primary would be a second signal. So only the primary's word counts, and its end.
 */
async function stopOrder (): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => {})
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
