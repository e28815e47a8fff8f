/** Counts the attempts at each provider, and how many of them failed because of the provider. */

import { sql, type Kysely } from 'kysely'
import { isProviderFault } from '../core/errors.ts'
import type { Tables, UsageRow } from '../stores/tables.ts'
import { filteredCalls } from './call-filter.ts'
import { readSteps } from './call-steps.ts'

export interface AttemptCounts {
  readonly attempts: number
  readonly failed: number
}

/** The newest calls are read, at most this many: three minutes' worth at 50 per second. */
const maxCalls = 10_000

/**
 * Counts attempts by provider. A provider's failures count even if another provider answered; callers'
 * mistakes and mirrored calls do not.
 *
 * @param projects whose calls count. Default: all
 */
export async function attemptsReport (
  query: Kysely<Tables>,
  { fromMs, projects }: { readonly fromMs: number, readonly projects?: readonly string[] | undefined }
): Promise<ReadonlyMap<string, AttemptCounts>> {
  const rows = await filteredCalls(query, { fromMs, projects })
    .where(sql<boolean>`record.attempts > 0`)
    .where('record.endpoint', '<>', 'mirror')
    .select(['record.provider', 'record.steps'])
    .orderBy('record.at_ms', 'desc')
    .limit(maxCalls)
    .execute()
  const counts = new Map<string, AttemptCounts>()
  for (const { provider, failed } of rows.flatMap(attemptsOf)) {
    const { attempts = 0, failed: before = 0 } = counts.get(provider) ?? {}
    counts.set(provider, { attempts: attempts + 1, failed: before + (failed ? 1 : 0) })
  }
  return counts
}

/** Returns the attempts of a call. A call without steps made one, which succeeded. */
function attemptsOf (
  row: Pick<UsageRow, 'provider' | 'steps'>
): Array<{ readonly provider: string, readonly failed: boolean }> {
  if (row.steps === null) return row.provider === null ? [] : [{ provider: row.provider, failed: false }]
  return (readSteps(row).requests ?? []).map(({ provider, reason }) => ({
    provider,
    failed: reason !== undefined && isProviderFault(reason)
  }))
}
