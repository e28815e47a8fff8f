/** Runs one job in its own thread, which ends with the job. */

import { Worker, type ResourceLimits, type WorkerOptions } from 'node:worker_threads'
import type { CallSignal } from '../core/call.ts'

export interface WorkerJob {
  readonly workerData: unknown
  /** Time limit of a job, including the start of its thread. */
  readonly limitMs: number
  readonly resourceLimits: ResourceLimits
  readonly signal: CallSignal
}

/**
 * Options of a thread without the variables, output and options of the process: a module that `--import`
 * loads into the process would otherwise be loaded again in each thread.
 */
export const isolated: WorkerOptions = { env: {}, execArgv: [], stdout: true, stderr: true }

let ending = 0

/**
 * Returns true while threads that should have ended have not: `process.exit` would wait for them for ever.
 */
export function hasUnendedThreads (): boolean {
  return ending > 0
}

/**
 * @param module reads the job from `workerData`, and posts its result as its only message
 * @returns the result; `undefined` for a job that takes too long or needs too much memory
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
    // Not awaited: a thread that waits for a file on an unreachable server does not end.
    ending++
    void worker.terminate().finally(() => { ending-- })
    worker.unref()
  }
}
