/** Sums over the usage records of periods, by which exports notice changes. */

import { sql, type Kysely } from 'kysely'
import { hourMs, rollupSums } from '../stores/usage-rollups.ts'
import type { TimeRange } from '../core/day.ts'
import type { Tables } from '../stores/tables.ts'

/** The sums over the records of a period. */
export interface WindowSums {
  readonly calls: number
  /** A digest of all sums; it changes if a record is added or replaced. */
  readonly digest: string
}

/**
 * Sums up periods from the hourly sums. Records that add nothing, such as model lists, are not noticed.
 *
 * @param windows of whole hours, in order of time, without overlap
 * @returns the sums of each, in the same order
 */
export async function windowSums (
  query: Kysely<Tables>,
  windows: readonly TimeRange[]
): Promise<WindowSums[]> {
  const [fromMs, untilMs] = [windows[0]?.fromMs, windows.at(-1)?.untilMs]
  if (fromMs === undefined || untilMs === undefined) return []
  const hours = await query.selectFrom('usage_rollups').select('from_ms')
    .select(rollupSums.map(column => sql<number>`sum(${sql.ref(column)})`.as(column)))
    .where('span_ms', '=', hourMs).where('from_ms', '>=', fromMs).where('from_ms', '<', untilMs)
    .groupBy('from_ms').orderBy('from_ms').execute()
  return windows.map(window => {
    const within = hours.filter(({ from_ms: ms }) => ms >= window.fromMs && ms < window.untilMs)
    const sums = rollupSums.map(column => within.reduce((sum, hour) => sum + hour[column], 0))
    return { calls: within.reduce((sum, { calls }) => sum + calls, 0), digest: sums.join(' ') }
  })
}
