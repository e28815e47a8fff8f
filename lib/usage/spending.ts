import type { Kysely } from 'kysely'
import { dayOf } from './day.ts'
import type { Tables } from '../stores/database.ts'

/**
 * What a key's calls of a stretch of time have cost, those that were pruned included, in billionths
 * of a dollar.
 *
 * @param fromMs the first moment of a day
 */
export async function spendingOf (query: Kysely<Tables>, keyId: string, fromMs: number, untilMs: number): Promise<number> {
  const { kept } = await query.selectFrom('usage').select(({ fn }) => fn.sum<number | null>('cost_nano_usd').as('kept'))
    .where('key_id', '=', keyId).where('at_ms', '>=', fromMs).where('at_ms', '<', untilMs).executeTakeFirstOrThrow()
  const { pruned } = await query.selectFrom('pruned_usage').select(({ fn }) => fn.sum<number | null>('cost_nano_usd').as('pruned'))
    .where('key_id', '=', keyId).where('day_ms', '>=', fromMs).where('day_ms', '<=', dayOf(untilMs)).executeTakeFirstOrThrow()
  return (kept ?? 0) + (pruned ?? 0)
}
