/**
 * Counts tokens without delaying other calls: in one worker thread, which starts with the first text to count
 * and ends after some idle time.
 *
 * A count only saves callers a round trip: the provider checks again. A failure here (a full queue, a text
 * that takes too long, a thread that dies) therefore never refuses a request.
 */

import { Worker } from 'node:worker_threads'
import { abortable } from '../async/cancellation.ts'
import { WorkQueue } from '../async/work-queue.ts'
import { isolated } from '../async/run-in-worker.ts'
import type { CallSignal } from '../core/call.ts'
import type { Excess, Text, TokenLimits } from './measure-inputs.ts'

export interface CountJob {
  readonly texts: readonly Text[]
  readonly limits: TokenLimits
}

export interface TokenCounter {
  /**
   * Finds what is certainly too long; `undefined` if nothing is, or if it is unknown.
   *
   * @param owner the key whose texts they are: jobs of several keys alternate
   * @throws the signal's reason when it aborts first
   */
  readonly excess: (job: CountJob, owner: string, signal: CallSignal) => Promise<Excess | undefined>
  /** Ends the thread; open jobs get no result. */
  readonly close: () => Promise<void>
}

export interface TokenCounterOptions {
  /** Time limit of one job, including the start of the thread. Default 5 s. */
  readonly jobMs?: number
  /** Idle time until the thread ends. Default 60 s. */
  readonly idleMs?: number
  /** Maximum waiting jobs. Default 64. */
  readonly queueLength?: number
}

const heapMb = 256

export function createTokenCounter ({
  jobMs = 5000,
  idleMs = 60_000,
  queueLength = 64
}: TokenCounterOptions = {}): TokenCounter {
  const turns = new WorkQueue(1)
  /** Waiting jobs, and the running one. */
  let open = 0
  let isClosed = false
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  /** Takes the result of the running job. */
  let settle: (excess: Excess | undefined) => void = () => undefined

  const startWorker = (): Worker => {
    const started = newWorker()
    // One that was given up may have sent its last message already.
    started.on('message', ({ excess }: { excess: Excess | undefined }) => {
      if (worker === started) settle(excess)
    })
    started.on('exit', () => { if (worker === started) stop() })
    return started
  }
  /** Ends the thread, busy or idle; the next job gets a new one. */
  const stop = (): void => {
    clearTimeout(timer)
    void worker?.terminate()
    worker = undefined
    settle(undefined)
  }
  const count = async (job: CountJob): Promise<Excess | undefined> => {
    if (isClosed) return undefined
    clearTimeout(timer)
    timer = setTimeout(stop, jobMs).unref()
    const excess = await new Promise<Excess | undefined>(resolve => {
      settle = resolve
      worker ??= startWorker()
      worker.postMessage(job)
    })
    clearTimeout(timer)
    if (worker !== undefined) timer = setTimeout(stop, idleMs).unref()
    return excess
  }

  return {
    excess: async (job, owner, signal) => {
      signal.throwIfAborted()
      if (open > queueLength) return undefined
      open++
      const turn = turns.run(owner, async () => await count(job), signal).finally(() => { open-- })
      return await abortable(turn, signal)
    },
    close: async () => {
      isClosed = true
      const ending = worker
      stop()
      await ending?.terminate()
    }
  }
}

/** Starts a thread, which does not keep the process alive. */
function newWorker (): Worker {
  const worker = new Worker(new URL('./token-worker.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMb }, ...isolated
  })
  worker.unref()
  // After an error it exits; by then there may be another one at work.
  worker.on('error', () => undefined)
  return worker
}
