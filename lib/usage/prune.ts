/** Keeps the ledger to an age and a number of rows, a step at a time. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type Kysely } from 'kysely'
import { dayMs } from './day.ts'
import type { Tables } from '../stores/database.ts'

export interface Keep {
  readonly keepDays: number
  readonly keepRows: number
}

/** Rows of a step: some milliseconds. */
const stepRows = 500

/** Deletes the oldest rows. What they had cost stays, by key and day, for the budgets. */
export async function pruneUsage (query: Kysely<Tables>, { keepDays, keepRows }: Keep, nowMs: number): Promise<void> {
  const firstTooMany = await query.selectFrom('usage').select('at_ms')
    .orderBy('at_ms', 'desc').limit(1).offset(keepRows).executeTakeFirst()
  const untilMs = Math.max(nowMs - keepDays * dayMs, (firstTooMany?.at_ms ?? -1) + 1)
  for (;;) {
    const oldest = await query.selectFrom('usage').select('at_ms').where('at_ms', '<', untilMs)
      .orderBy('at_ms').limit(stepRows).execute()
    const last = oldest.at(-1)
    if (last === undefined) return
    await pruneStep(query, last.at_ms + 1)
    await nextTurn()
  }
}

async function pruneStep (query: Kysely<Tables>, untilMs: number): Promise<void> {
  await query.transaction().execute(async step => {
    const costs = step.selectFrom('usage')
      .select(({ fn }) => ['key_id', sql<number>`at_ms - at_ms % ${sql.lit(dayMs)}`.as('day'), fn.sum<number>('cost_nano_usd').as('cost')])
      .where('at_ms', '<', untilMs).where('cost_nano_usd', '>', 0).groupBy(['key_id', 'day'])
    await step.insertInto('pruned_usage').columns(['key_id', 'day_ms', 'cost_nano_usd']).expression(costs)
      .onConflict(conflict => conflict.columns(['key_id', 'day_ms']).doUpdateSet({
        cost_nano_usd: sql`pruned_usage.cost_nano_usd + excluded.cost_nano_usd`
      })).execute()
    await step.deleteFrom('usage').where('at_ms', '<', untilMs).execute()
  })
}
