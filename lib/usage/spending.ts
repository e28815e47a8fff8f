import type { Kysely } from 'kysely'
import { dayOf } from './day.ts'
import type { Tables } from '../stores/tables.ts'

/**
 * Returns what the calls of a key, or of all keys of a project, have cost in a period, in billionths of a dollar, with those of all
 * processes that share the store and those whose rows were pruned. Reads a row for each day.
 *
 * @param id of a key or of a project
 * @param fromMs the first millisecond of a day
 */
export async function spendingOf (query: Kysely<Tables>, id: string, fromMs: number, untilMs: number): Promise<number> {
  const { spent } = await query.selectFrom('spending').select(({ fn }) => fn.sum<number | null>('cost_nano_usd').as('spent'))
    .where(spending => spending.or([spending('key_id', '=', id), spending('key_id', 'in', spending.selectFrom('keys').select('keys.id').where('project_id', '=', id))])).where('day_ms', '>=', fromMs).where('day_ms', '<=', dayOf(untilMs)).executeTakeFirstOrThrow()
  return spent ?? 0
}
