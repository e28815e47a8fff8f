/**
 * Works with the store while other processes may be writing to it. SQLite itself waits for a lock by
 * blocking the process: fine for a command, not for a process that answers calls.
 */

import { setTimeout as sleep } from 'node:timers/promises'

const retryMs = 20
const normalWaitMs = 5000

/**
 * Runs `work`, and repeats it while the store is locked; the process goes on in between.
 *
 * @param work one statement, or several of which each may be repeated
 * @param maxWaitMs milliseconds after which it is not repeated any more. Default 5,000
 * @throws the errors of `work`; the last one when the store stays locked
 */
export async function retryWhenLocked<T> (work: () => Promise<T>, maxWaitMs = normalWaitMs): Promise<T> {
  const deadlineMs = performance.now() + maxWaitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadlineMs) throw error
    }
    await sleep(retryMs)
  }
}

/** Reads the message: not all errors of the driver carry the number. */
function isLocked (error: unknown): boolean {
  return error instanceof Error && /\bis locked\b/.test(error.message)
}
