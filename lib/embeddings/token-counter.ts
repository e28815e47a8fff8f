/**
 * Counts tokens without delaying other calls: in one worker thread, which starts with the
 * first text that has to be counted and goes when there was none for a while.
 *
 * A count only spares callers a round trip: the provider checks again. So whatever goes wrong
 * here (a full queue, a text that takes too long, a thread that dies) says nothing against the
 * request.
 */

import { Worker } from 'node:worker_threads'
import { isolated } from '../async/run-in-worker.ts'
import type { CallSignal } from '../core/call-signal.ts'
import type { Excess, Text, TokenLimits } from './measure-tokens.ts'

export interface CountJob {
  readonly texts: readonly Text[]
  readonly limits: TokenLimits
}

export interface TokenCounter {
  /**
   * Finds what is surely too long, or `undefined`: nothing is, or it is not known.
   * @throws the signal's reason when it aborts first
   */
  readonly excess: (job: CountJob, signal: CallSignal) => Promise<Excess | undefined>
  /** Ends the thread; open jobs stay without a result. */
  readonly close: () => Promise<void>
}

export interface TokenCounterOptions {
  /** For one job, the start of the thread included. Default 5 s. */
  readonly jobMs?: number
  /** Without a job, until the thread ends. Default 60 s. */
  readonly idleMs?: number
  /** Jobs waiting at once. Default 64. */
  readonly queueLength?: number
}

interface Waiting {
  readonly job: CountJob
  readonly settle: (excess: Excess | undefined) => void
}

const heapMb = 256

export function createTokenCounter ({
  jobMs = 5000,
  idleMs = 60_000,
  queueLength = 64
}: TokenCounterOptions = {}): TokenCounter {
  const queue: Waiting[] = []
  let worker: Worker | undefined
  let current: Waiting | undefined
  let timer: NodeJS.Timeout | undefined

  const startWorker = (): Worker => {
    const started = newWorker()
    // One that was given up may have sent its last message already.
    started.on('message', ({ excess }: { excess: Excess | undefined }) => {
      if (worker === started) settle(excess)
    })
    started.on('exit', () => { if (worker === started) stop() })
    return started
  }
  const next = (): void => {
    if (current !== undefined) return
    clearTimeout(timer)
    current = queue.shift()
    timer = setTimeout(stop, current === undefined ? idleMs : jobMs).unref()
    if (current === undefined) return
    worker ??= startWorker()
    worker.postMessage(current.job)
  }
  const settle = (excess?: Excess): void => {
    current?.settle(excess)
    current = undefined
    next()
  }
  /** Ends the thread, busy or idle; the next job gets a new one. */
  const stop = (): void => {
    clearTimeout(timer)
    void worker?.terminate()
    worker = undefined
    if (current !== undefined) settle()
  }

  return {
    excess: async (job, signal) => {
      signal.throwIfAborted()
      if (queue.length >= queueLength) return undefined
      const result = enqueue(job, queue, signal)
      next()
      return await result
    },
    close: async () => {
      clearTimeout(timer)
      const ending = worker
      worker = undefined
      for (const { settle } of queue.splice(0)) settle(undefined)
      current?.settle(undefined)
      current = undefined
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

/** Puts a job at the end of the queue and waits for its result. When its caller leaves, so does the job. */
async function enqueue (job: CountJob, queue: Waiting[], signal: CallSignal): Promise<Excess | undefined> {
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      const position = queue.indexOf(waiting)
      if (position !== -1) queue.splice(position, 1)
      reject(signal.reason) // a `GatewayError`, as every reason of a call's signal
    }
    const waiting: Waiting = {
      job,
      settle: excess => {
        signal.removeEventListener('abort', onAbort)
        resolve(excess)
      }
    }
    signal.addEventListener('abort', onAbort, { once: true })
    queue.push(waiting)
  })
}
