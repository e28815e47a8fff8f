/**
 * Adds the records of an older store to the sums by name, newest first. Each step saves its progress in the
 * same transaction, so an interrupted step can be repeated, and records stored in the meantime count once:
 * those before the saved position are left for a later step.
 */

import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { RollupBacklogRow } from './tables.ts'

/**
 * Adds some records.
 *
 * @returns the record before which records are not added yet; `undefined` if there are none
 */
export async function backfillStep (database: Database): Promise<RollupBacklogRow | undefined> {
  return await database.transaction([], async ({ query, addNames }) => {
    const backlog = await database.lockRows(query.selectFrom('rollup_backlog').selectAll()).executeTakeFirst()
    if (backlog === undefined) return undefined
    const rows = await query.selectFrom('usage').selectAll()
      .where('at_ms', '<=', backlog.at_ms)
      .where(sql<boolean>`(at_ms, id) < (${backlog.at_ms}, ${backlog.id})`)
      .orderBy('at_ms', 'desc').orderBy('id', 'desc').limit(database.maxSummedRows).execute()
    const last = rows.at(-1)
    if (last === undefined) {
      await query.deleteFrom('rollup_backlog').execute()
      return undefined
    }
    const { at_ms, id } = last
    await query.updateTable('rollup_backlog').set({ at_ms, id }).execute()
    await addNames(rows, 1)
    return { at_ms, id }
  })
}
