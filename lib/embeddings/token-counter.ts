/**
 * Counts tokens without delaying other calls: in one worker thread, which starts with the
 * first text that has to be counted and goes when there was none for a while.
 *
 * A count only spares callers a round trip: the provider checks again. So whatever goes wrong
 * here (a full queue, a text that takes too long, a thread that dies) says nothing against the
 * request.
 */

import { Worker } from 'node:worker_threads'
import { abortable } from '../async/cancellation.ts'
import { FairSemaphore } from '../async/fair-semaphore.ts'
import { isolated } from '../async/run-in-worker.ts'
import type { CallSignal } from '../core/call-signal.ts'
import type { Excess, Text, TokenLimits } from './measure-inputs.ts'

export interface CountJob {
  readonly texts: readonly Text[]
  readonly limits: TokenLimits
}

export interface TokenCounter {
  /**
   * Finds what is surely too long, or `undefined`: nothing is, or it is not known.
   *
   * @param owner the key whose texts they are: jobs of several keys take turns
   * @throws the signal's reason when it aborts first
   */
  readonly excess: (job: CountJob, owner: string, signal: CallSignal) => Promise<Excess | undefined>
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

const heapMb = 256

export function createTokenCounter ({
  jobMs = 5000,
  idleMs = 60_000,
  queueLength = 64
}: TokenCounterOptions = {}): TokenCounter {
  const turns = new FairSemaphore(1)
  /** Jobs that wait, and the one at work. */
  let open = 0
  let isClosed = false
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  /** Takes the result of the job at work. */
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
