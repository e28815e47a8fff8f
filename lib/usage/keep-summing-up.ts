/** Sums up the records of a store of an earlier version while calls go on. */

import { setTimeout as sleep } from 'node:timers/promises'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { sumUpStep } from '../stores/sum-up-backlog.ts'
import { loggableError } from '../text/describe-error.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../log/log.ts'

/** Steps take a quarter of the time, and calls have the rest. */
const pausePerStep = 3
const logEveryMs = 30_000
const retryMs = 10_000

/**
 * Takes steps until all records are summed up, and says in the log how far it is. It begins when gateways of
 * the version before write none any more. What fails is tried again. Never rejects.
 *
 * @param signal ends it after the present step
 */
export async function keepSummingUp (database: Database, log: Log, signal: AbortSignal): Promise<void> {
  let loggedMs = -Infinity
  while (!signal.aborted) {
    const startedMs = performance.now()
    let waitMs = retryMs
    try {
      const { at_ms: endMs = 0 } = await database.query.selectFrom('rollup_backlog').select('at_ms')
        .executeTakeFirst() ?? {}
      const backlog = endMs > database.now()
        ? { at_ms: endMs }
        : await retryWhenLocked(async () => await sumUpStep(database))
      if (backlog === undefined) {
        if (loggedMs > 0) log.info({}, 'usage records of an earlier version are summed up')
        return
      }
      waitMs = Math.max(pausePerStep * (performance.now() - startedMs), endMs - database.now())
      if (startedMs - loggedMs >= logEveryMs) {
        const progress = await progressOf(database, backlog.at_ms)
        log.info(progress, 'summing up usage records of an earlier version by end user, session and tag')
        loggedMs = startedMs
      }
    } catch (error) {
      log.warn(
        { cause: loggableError(error) },
        'failed to sum up usage records of an earlier version; will be tried again'
      )
    }
    await sleep(waitMs, undefined, { ref: false, signal }).catch(() => undefined) // ended
  }
}

interface Progress {
  /** The time from which records are summed up. */
  readonly from: string
  /** The time of the oldest record. */
  readonly oldest: string
}

async function progressOf ({ query }: Database, atMs: number): Promise<Progress> {
  const oldest = await query.selectFrom('usage').select('at_ms').orderBy('at_ms').limit(1).executeTakeFirst()
  return { from: new Date(atMs).toISOString(), oldest: new Date(oldest?.at_ms ?? atMs).toISOString() }
}
