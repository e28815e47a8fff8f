/** Reads the data of alerts: spending by party, and failed calls. */

import { sql, type Kysely } from 'kysely'
import { dayMs } from '../core/day.ts'
import { hourMs } from '../stores/usage-rollups.ts'
import type { Tables } from '../stores/tables.ts'
import { projectOfRecord } from './call-filter.ts'
import { usedBetween } from './spending.ts'

/** Returns the ids of keys with calls since an hour. */
export async function activeKeys (query: Kysely<Tables>, sinceMs: number): Promise<string[]> {
  const rows = await query.selectFrom('usage_rollups').select('key_id').distinct()
    .where('span_ms', '=', hourMs).where('from_ms', '>=', hourOf(sinceMs)).execute()
  return rows.map(({ key_id: id }) => id)
}

/** A party and a window. */
export interface SpendingQuery {
  /** As named by `counterName` in `limits/sum-keys`. */
  readonly party: string
  readonly fromMs: number
  /** Exclusive, may be Infinity. */
  readonly endMs: number
}

/** Returns the spending of each party in its window, in billionths of a dollar, in the same order. */
export async function spentBy (
  query: Kysely<Tables>,
  questions: readonly SpendingQuery[]
): Promise<number[]> {
  const spent: number[] = []
  for (const { party, fromMs, endMs } of questions) {
    spent.push(await usedBetween(query, 'nanoUsd', party, fromMs, endMs))
  }
  return spent
}

export interface HourSpending {
  readonly projectId: string
  readonly nanoUsd: number
  /** The median of the same hour on earlier days. */
  readonly medianNanoUsd: number
}

/** Number of earlier days to compare with. */
const comparedDays = 14

/**
 * Returns the projects that spent more than an amount in an hour, with their usual spending at that time of
 * day. Days before the first record are not compared, so a store has no comparison on its first day.
 *
 * @param hour its first millisecond
 */
export async function hourSpending (
  query: Kysely<Tables>,
  hour: number,
  minNanoUsd: number
): Promise<HourSpending[]> {
  const { first } = await query.selectFrom('usage_rollups').select(({ fn }) => fn.min('from_ms').as('first'))
    .where('span_ms', '=', hourMs).executeTakeFirstOrThrow()
  const before = Array.from({ length: comparedDays }, (_, day) => hour - (day + 1) * dayMs)
    .filter(ms => first !== null && ms >= first)
  if (before.length === 0) return []
  const now = (await spendingOf(query, [hour])).filter(({ nanoUsd }) => nanoUsd > minNanoUsd)
  if (now.length === 0) return []
  const past = await spendingOf(query, before)
  return now.map(({ projectId, nanoUsd }) => {
    const amounts = past.filter(row => row.projectId === projectId).map(row => row.nanoUsd)
    const idle = before.slice(amounts.length).map(() => 0)
    return { projectId, nanoUsd, medianNanoUsd: medianOf([...amounts, ...idle]) }
  })
}

interface ProjectHour {
  readonly projectId: string
  readonly nanoUsd: number
}

async function spendingOf (query: Kysely<Tables>, hours: readonly number[]): Promise<ProjectHour[]> {
  const { rows } = await sql<ProjectHour>`
    select project_id as "projectId", sum(cost_nano_usd) as "nanoUsd" from (
      select ${projectOfRecord} as project_id, from_ms, cost_nano_usd
      from usage_rollups as record where span_ms = ${hourMs} and from_ms in (${sql.join(hours)})
    ) as spending group by project_id, from_ms`.execute(query)
  return rows
}

function medianOf (amounts: readonly number[]): number {
  const sorted = amounts.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return (low + high) / 2
}

/** The newest calls are read, at most this many. */
const maxCalls = 10_000

export interface FailedCalls {
  readonly calls: number
  readonly failed: number
}

/**
 * Counts calls and failed calls: those with a status of 500 or above, an error within the stream, or a
 * crashed process. Callers' mistakes and refusals by a limit are not failures. Mirrored calls do not count.
 */
export async function failedCalls (query: Kysely<Tables>, sinceMs: number): Promise<FailedCalls> {
  const { rows: [counts] } = await sql<FailedCalls>`
    select count(*) as calls, coalesce(sum(
      case when outcome in ('error', 'interrupted') and coalesce(status, 500) not between 400 and 499 then 1 else 0 end
    ), 0) as failed from (
      select outcome, status from usage where at_ms >= ${sinceMs} and endpoint <> 'mirror' order by at_ms desc limit ${sql.lit(maxCalls)}
    ) as recent`.execute(query)
  return counts ?? { calls: 0, failed: 0 }
}

function hourOf (ms: number): number {
  return ms - ms % hourMs
}
