import { partySpans } from '../party-spending.ts'
import type { UsageRow } from '../tables.ts'
import type { Statement } from './statement-cache.ts'

const add = `insert into party_spending (span_ms, party, from_ms, cost_nano_usd) values (?, ?, ?, ?)
  on conflict (span_ms, party, from_ms) do update set cost_nano_usd = party_spending.cost_nano_usd + excluded.cost_nano_usd`

/** Adds an amount to the sums of a row's parties, in the same transaction. */
export function addPartySpending (
  prepare: (sql: string) => Statement,
  { parties, at_ms: atMs }: Pick<UsageRow, 'parties' | 'at_ms'>,
  nanoUsd: number
): void {
  for (const party of JSON.parse(parties ?? '[]') as readonly string[]) { // written by this gateway
    for (const spanMs of partySpans) prepare(add).run(spanMs, party, atMs - atMs % spanMs, nanoUsd)
  }
}
