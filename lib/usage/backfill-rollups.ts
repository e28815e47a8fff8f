/** Adds the records of an older store to its rollups, in the background. */

import { setTimeout as sleep } from 'node:timers/promises'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { backfillStep } from '../stores/backfill-step.ts'
import { loggableError } from '../text/describe-error.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../log/log.ts'

/** Work takes a quarter of the time, so that calls get the rest. */
const pausePerStep = 3
const logEveryMs = 30_000
const retryMs = 10_000

/**
 * Sums up all records step by step, and logs its progress. Starts once no gateway of the older version writes
 * to the store. Retries on failure. Never rejects.
 *
 * @param signal stops after the current step
 */
export async function backfillRollups (database: Database, log: Log, signal: AbortSignal): Promise<void> {
  let loggedMs = -Infinity
  while (!signal.aborted) {
    const startedMs = performance.now()
    let waitMs = retryMs
    try {
      const { at_ms: endMs = 0 } = await database.query.selectFrom('rollup_backlog').select('at_ms')
        .executeTakeFirst() ?? {}
      const backlog = endMs > database.now()
        ? { at_ms: endMs }
        : await retryWhenLocked(async () => await backfillStep(database))
      if (backlog === undefined) {
        if (loggedMs > 0) log.info({}, 'finished summing up usage records of an earlier version')
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
    await sleep(waitMs, undefined, { ref: false, signal }).catch(() => undefined) // aborted
  }
}

interface Progress {
  /** Records are summed up from this time on. */
  readonly from: string
  /** The time of the oldest record. */
  readonly oldest: string
}

async function progressOf ({ query }: Database, atMs: number): Promise<Progress> {
  const oldest = await query.selectFrom('usage').select('at_ms').orderBy('at_ms').limit(1).executeTakeFirst()
  return { from: new Date(atMs).toISOString(), oldest: new Date(oldest?.at_ms ?? atMs).toISOString() }
}
