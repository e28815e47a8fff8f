/** Searches usage rows from the newest backwards, for a few seconds at most. */

import type { Kysely } from 'kysely'
import type { TimeRange } from '../core/day.ts'
import type { Tables } from '../stores/tables.ts'

const hourMs = 3_600_000
/** Target duration of a statement; the next range is scaled by it. */
const statementMs = 250
const maxSearchMs = 3000

/**
 * Reads consecutive time ranges until enough was found.
 *
 * With a filter that few records match, a single statement would read all records.
 *
 * @param read returns true when enough was found
 * @param clock returns monotonic milliseconds
 * @returns the time back to which records were read, if the search ended early
 */
export async function searchBack (
  query: Kysely<Tables>,
  within: Partial<{ readonly [K in keyof TimeRange]: number | undefined }>,
  read: (range: TimeRange) => Promise<boolean>,
  clock: () => number = () => performance.now()
): Promise<number | undefined> {
  const { oldest, newest } = await endsOf(query)
  const fromMs = Math.max(oldest, within.fromMs ?? 0)
  let untilMs = Math.min(newest + 1, within.untilMs ?? Infinity)
  let lengthMs = hourMs
  const beganMs = clock()
  while (untilMs > fromMs) {
    const startedMs = clock()
    if (startedMs - beganMs > maxSearchMs) return untilMs
    const range = { fromMs: Math.max(fromMs, untilMs - lengthMs), untilMs }
    if (await read(range)) return undefined
    lengthMs = Math.ceil(lengthMs * Math.min(8, Math.max(0.25, statementMs / (clock() - startedMs))))
    untilMs = range.fromMs
  }
  return undefined
}

/** Returns the times of the first and the last record, which are equal if there is none. */
async function endsOf (query: Kysely<Tables>): Promise<{ readonly oldest: number, readonly newest: number }> {
  const end = async (order: 'asc' | 'desc'): Promise<number> =>
    (await query.selectFrom('usage').select('at_ms').orderBy('at_ms', order).limit(1).executeTakeFirst())
      ?.at_ms ?? 0
  return { oldest: await end('asc'), newest: await end('desc') }
}
