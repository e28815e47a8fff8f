/**
 * Work with the store while others may be writing to it. SQLite itself waits for a lock by holding
 * up the whole process: fine for a command, not for one that answers calls.
 */

import { setTimeout as sleep } from 'node:timers/promises'

const everyMs = 20
const longestMs = 5000

/**
 * Does `work`, and does it again while the store is locked, for up to 5 seconds; everything else
 * goes on in between.
 *
 * @param work one statement, or several of which each may be repeated
 * @throws whatever `work` throws, at last also that the store is locked
 */
export async function retryWhenLocked<T> (work: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + longestMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isLocked(error) || performance.now() > untilMs) throw error
    }
    await sleep(everyMs)
  }
}

/** By its words: not all errors of the driver carry the number. */
function isLocked (error: unknown): boolean {
  return error instanceof Error && /\bis locked\b/.test(error.message)
}
