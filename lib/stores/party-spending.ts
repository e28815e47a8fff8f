/**
 * Reads and deletes the sums of parties. A window is read as days, plus the quarters of an hour before its
 * first full day. Days of every time zone start at a quarter of an hour.
 */

import { setImmediate as immediate } from 'node:timers/promises'
import { sql, type Kysely, type SelectQueryBuilder } from 'kysely'
import { dayMs } from '../core/day.ts'
import { daysOf } from './name-rollups.ts'
import type { Tables } from './tables.ts'

export const quarterMs = 15 * 60_000
export const partySpans = [quarterMs, dayMs] as const

/** Prefix of the names of end users. */
export const endUserPrefix = 'end_user:'

const ofEndUser = sql<boolean>`substr(party, 1, ${sql.lit(endUserPrefix.length)}) = ${endUserPrefix}`

/** Longer than any window of an end user. */
const keptMs = 400 * dayMs

/**
 * Deletes sums that no window needs, one time at a time. Days are kept for budgets without an end, which end
 * users do not have.
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
      await immediate()
    }
  }
}

/** Lists the end users of a project with spending in a UTC month. @param most maximum number to return */
export async function endUsersOfMonth (
  query: Kysely<Tables>,
  project: string,
  monthFromMs: number,
  most: number
): Promise<string[]> {
  const names = new Set<string>()
  for (const fromMs of daysOf('end_user', monthFromMs)) {
    const rows = await endUsersQuery(query, project, fromMs).limit(most).execute()
    for (const { party } of rows) names.add(party.slice(`${endUserPrefix}${project}/`.length))
    if (names.size >= most) break
  }
  return [...names].slice(0, most)
}

/** Returns the query for those of one day, by an index range without rows of other projects. */
export function endUsersQuery (
  query: Kysely<Tables>,
  project: string,
  dayFromMs: number
): SelectQueryBuilder<Tables, 'party_spending', { party: string }> {
  const prefix = `${endUserPrefix}${project}`
  return query
    .selectFrom('party_spending')
    .select('party')
    .where('span_ms', '=', dayMs)
    .where('from_ms', '=', dayFromMs)
    .where('party', '>', `${prefix}/`)
    .where('party', '<', `${prefix}0`) // the character after the slash
}
