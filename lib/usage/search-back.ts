/** Looks through usage rows from the newest back, for a few seconds at most. */

import type { Kysely } from 'kysely'
import type { Tables } from '../stores/tables.ts'

export interface Stretch {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

const hourMs = 3_600_000
/** Time that a statement is meant to take: the next stretch is as much longer or shorter. */
const statementMs = 250
const maxSearchMs = 3000

/**
 * Reads stretches of time, one after the other, until one says that enough was found.
 *
 * Filters that few records pass would otherwise read all of them in one statement.
 *
 * @param read returns true when enough was found
 * @param clock milliseconds of a clock that only counts on
 * @returns the time back to which the records were read, where the search ended early
 */
export async function searchBack (
  query: Kysely<Tables>,
  within: Partial<{ readonly [K in keyof Stretch]: number | undefined }>,
  read: (stretch: Stretch) => Promise<boolean>,
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
    const stretch = { fromMs: Math.max(fromMs, untilMs - lengthMs), untilMs }
    if (await read(stretch)) return undefined
    lengthMs = Math.ceil(lengthMs * Math.min(8, Math.max(0.25, statementMs / (clock() - startedMs))))
    untilMs = stretch.fromMs
  }
  return undefined
}

/** Returns the times of the first and the last record: the same where there is none. */
async function endsOf (query: Kysely<Tables>): Promise<{ readonly oldest: number, readonly newest: number }> {
  const end = async (order: 'asc' | 'desc'): Promise<number> =>
    (await query.selectFrom('usage').select('at_ms').orderBy('at_ms', order).limit(1).executeTakeFirst())
      ?.at_ms ?? 0
  return { oldest: await end('asc'), newest: await end('desc') }
}
