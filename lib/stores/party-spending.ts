/**
 * Reads and deletes sums of parties. A window is read as its days and, before its first day, its
 * quarters of an hour, at which the days of every time zone begin.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type Kysely, type SelectQueryBuilder } from 'kysely'
import { dayMs } from '../core/day.ts'
import { daysOf } from './name-rollups.ts'
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

/** Lists the end users of a project that have spent something in a month of UTC. @param most of them */
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

/** Begins the query for those of one day, by an index that has no row of another project between them. */
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
