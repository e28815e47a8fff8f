/** Stores as an earlier version left them. */

import type { Database } from '../../lib/stores/database.ts'

/** Removes the sums by name from a store, as the migration that adds their tables expects it. */
export async function withoutNameSums ({ query }: Database): Promise<void> {
  await query.deleteFrom('name_rollups').execute()
  await query.deleteFrom('counted_names').execute()
  const last = await query
    .selectFrom('usage')
    .select('at_ms')
    .orderBy('at_ms', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  await query
    .insertInto('rollup_backlog')
    .values({ at_ms: last.at_ms + 1, id: '' })
    .execute()
}
