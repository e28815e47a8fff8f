/** Does one job in a thread of its own, which ends with it. */

import { Worker, type ResourceLimits, type WorkerOptions } from 'node:worker_threads'
import type { CallSignal } from '../core/call-signal.ts'

export interface WorkerJob {
  readonly workerData: unknown
  /** Time for the job, the start of the thread included. */
  readonly limitMs: number
  readonly resourceLimits: ResourceLimits
  readonly signal: CallSignal
}

/**
 * A thread without the variables, the output and the options of the process: a module that `--import` loads
 * into the process would start once more in each thread.
 */
export const isolated: WorkerOptions = { env: {}, execArgv: [], stdout: true, stderr: true }

let ending = 0

/** Returns true while threads have not ended that should have: `process.exit` waits for them without end. */
export function hasUnendedThreads (): boolean {
  return ending > 0
}

/**
 * @param module has the job in `workerData`, and posts its result as its one message
 * @returns the result; `undefined` for a job that takes too long, or is too much for the thread
 * @throws the signal's reason
 */
export async function runInWorker (
  module: URL,
  { workerData, limitMs, resourceLimits, signal }: WorkerJob
): Promise<unknown> {
  signal.throwIfAborted()
  const worker = new Worker(module, { workerData, resourceLimits, ...isolated })
  let timer: NodeJS.Timeout | undefined
  let onAbort = (): void => undefined
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(resolve, limitMs)
      onAbort = () => reject(signal.reason)
      signal.addEventListener('abort', onAbort)
      worker.once('message', resolve)
      worker.once('error', () => resolve(undefined))
      worker.once('exit', () => resolve(undefined))
    })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    // Not awaited: a thread that waits for a file of a server that is gone does not end.
    ending++
    void worker.terminate().finally(() => { ending-- })
    worker.unref()
  }
}
