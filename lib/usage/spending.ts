import type { Kysely } from 'kysely'
import { dayOf } from './day.ts'
import type { Tables } from '../stores/tables.ts'

/**
 * Returns what the calls of a key have cost in a period, in billionths of a dollar, with those of all
 * processes that share the store and those whose rows were pruned. Reads a row for each day.
 *
 * @param fromMs the first millisecond of a day
 */
export async function spendingOf (query: Kysely<Tables>, keyId: string, fromMs: number, untilMs: number): Promise<number> {
  const { spent } = await query.selectFrom('spending').select(({ fn }) => fn.sum<number | null>('cost_nano_usd').as('spent'))
    .where('key_id', '=', keyId).where('day_ms', '>=', fromMs).where('day_ms', '<=', dayOf(untilMs)).executeTakeFirstOrThrow()
  return spent ?? 0
}
