/** Counts the requests that calls sent to each provider, and those of them that failed because of it. */

import { sql, type Kysely } from 'kysely'
import { isProviderFault } from '../core/errors.ts'
import type { Tables, UsageRow } from '../stores/tables.ts'
import { filteredCalls } from './call-filter.ts'
import { readSteps } from './call-timeline.ts'

export interface AttemptCounts {
  readonly attempts: number
  readonly failed: number
}

/** Calls that are looked at, the newest: at 50 a second those of three minutes. */
const maxCalls = 10_000

/**
 * Counts attempts by provider. A provider that another one stood in for has its failures here, and none of
 * callers' mistakes. Mirrored calls do not count.
 *
 * @param projects whose calls count; absent: all
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

/** Returns the attempts of a call. One without steps sent one request, which succeeded. */
function attemptsOf (
  row: Pick<UsageRow, 'provider' | 'steps'>
): Array<{ readonly provider: string, readonly failed: boolean }> {
  if (row.steps === null) return row.provider === null ? [] : [{ provider: row.provider, failed: false }]
  return (readSteps(row).requests ?? []).map(({ provider, reason }) => ({
    provider,
    failed: reason !== undefined && isProviderFault(reason)
  }))
}
