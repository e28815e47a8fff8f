/**
 * Reads and deletes sums of parties. A window is read as its days and, before its first day, its
 * quarters of an hour, at which the days of every time zone begin.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type Kysely } from 'kysely'
import { dayMs } from '../core/day.ts'
import type { Tables } from './tables.ts'

export const quarterMs = 15 * 60_000
export const partySpans = [quarterMs, dayMs] as const

/** What names of end users begin with. */
export const endUserPrefix = 'end_user:'

const ofEndUser = sql<boolean>`substr(party, 1, ${sql.lit(endUserPrefix.length)}) = ${endUserPrefix}`

/** The longest window of an end user is shorter. */
const keptMs = 400 * dayMs

/**
 * Deletes sums that no window needs any more, those of one moment at a time. Days stay for budgets without an
 * end, which end users have not.
 */
export async function prunePartySpending (query: Kysely<Tables>, nowMs: number): Promise<void> {
  for (const spanMs of partySpans) {
    let after = -1
    for (;;) {
      const oldest = await query.selectFrom('party_spending').select('from_ms').where('span_ms', '=', spanMs)
        .where('from_ms', '>', after).where('from_ms', '<', nowMs - keptMs).orderBy('from_ms').limit(1)
        .executeTakeFirst()
      if (oldest === undefined) break
      after = oldest.from_ms
      let rows = query.deleteFrom('party_spending').where('span_ms', '=', spanMs).where('from_ms', '=', after)
      if (spanMs === dayMs) rows = rows.where(ofEndUser)
      await rows.execute()
      await nextTurn()
    }
  }
}

/** Lists the end users of a project that have spent something since a day began. @param most of them */
export async function endUsersSince (
  query: Kysely<Tables>,
  project: string,
  dayFromMs: number,
  most: number
): Promise<string[]> {
  const prefix = `${endUserPrefix}${project}/`
  const rows = await query
    .selectFrom('party_spending')
    .select('party')
    .distinct()
    .where('span_ms', '=', dayMs)
    .where('from_ms', '>=', dayFromMs)
    .where(sql<boolean>`substr(party, 1, ${prefix.length}) = ${prefix}`)
    .limit(most)
    .execute()
  return rows.map(({ party }) => party.slice(prefix.length))
}
