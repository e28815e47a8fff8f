/** Stores as an earlier version left them. */

import type { Database } from '../../lib/stores/database.ts'

/** Takes the sums by names from a store, as a step of the schema finds it that adds their tables. */
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
