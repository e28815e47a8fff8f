/**
 * Retries while other processes are writing to the store. SQLite itself blocks the process to wait for a
 * lock, which is fine for a command but not for a server.
 */

import { setTimeout as sleep } from 'node:timers/promises'

const retryMs = 20
const normalWaitMs = 5000

/**
 * Runs `work`, and repeats it while the store is locked, without blocking the process.
 *
 * @param work one statement, or several that may each be repeated
 * @param maxWaitMs milliseconds after which to give up. Default 5,000
 * @throws errors of `work`; the last one if the store stays locked
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

/** Matches the message, because not all driver errors carry the code. */
function isLocked (error: unknown): boolean {
  return error instanceof Error && /\bis locked\b/.test(error.message)
}
