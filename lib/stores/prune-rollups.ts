import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { dayMs } from '../core/day.ts'
import type { Retention } from './database.ts'
import type { Tables } from './tables.ts'
import { rollupSpans } from './usage-rollups.ts'

/**
 * Deletes the oldest rollups, an hour or a day at a time: those that are older than records are kept, and
 * more of each span than there may be records. Those of records that were deleted because there were too many
 * stay.
 */
export async function pruneRollups (
  query: Kysely<Tables>,
  { keepDays, keepRows }: Retention,
  nowMs: number
): Promise<void> {
  for (const spanMs of rollupSpans) {
    const oldestFirst = query
      .selectFrom('usage_rollups')
      .select('from_ms')
      .where('span_ms', '=', spanMs)
      .orderBy('from_ms')
    const firstTooMany = await query
      .selectFrom('usage_rollups')
      .select('from_ms')
      .where('span_ms', '=', spanMs)
      .orderBy('from_ms', 'desc')
      .limit(1)
      .offset(keepRows)
      .executeTakeFirst()
    const untilMs = Math.max(nowMs - keepDays * dayMs - spanMs, firstTooMany?.from_ms ?? -1)
    for (;;) {
      const oldest = await oldestFirst.where('from_ms', '<=', untilMs).limit(1).executeTakeFirst()
      if (oldest === undefined) break
      await query
        .deleteFrom('usage_rollups')
        .where('span_ms', '=', spanMs)
        .where('from_ms', '=', oldest.from_ms)
        .execute()
      await nextTurn()
    }
  }
}
