/** Keeps the ledger to an age and a number of rows, a step at a time. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { dayMs } from '../../usage/day.ts'
import type { Retention } from '../database.ts'
import type { Tables } from '../tables.ts'

/** Rows of a step: some milliseconds. */
const stepRows = 500

/** Deletes the oldest rows. Budgets do not need them: what they cost is in `spending`. */
export async function pruneUsage (query: Kysely<Tables>, { keepDays, keepRows }: Retention, nowMs: number): Promise<void> {
  const firstTooMany = await query.selectFrom('usage').select('at_ms')
    .orderBy('at_ms', 'desc').limit(1).offset(keepRows).executeTakeFirst()
  const untilMs = Math.max(nowMs - keepDays * dayMs, (firstTooMany?.at_ms ?? -1) + 1)
  for (;;) {
    const oldest = await query.selectFrom('usage').select('at_ms').where('at_ms', '<', untilMs)
      .orderBy('at_ms').limit(stepRows).execute()
    const last = oldest.at(-1)
    if (last === undefined) return
    await query.deleteFrom('usage').where('at_ms', '<=', last.at_ms).execute()
    await nextTurn()
  }
}
