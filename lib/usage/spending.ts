/** Reads the usage of a party's calls since a moment from the usage ledger. */

import {
  DummyDriver,
  Kysely,
  sql,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type RawBuilder
} from 'kysely'
import { unitColumns, type UnitColumn } from '../../schemas/billed-units.ts'
import { dayMs, dayOf, type TimeRange } from '../core/day.ts'
import { quarterMs } from '../stores/party-spending.ts'
import { hourMs } from '../stores/usage-rollups.ts'
import type { Tables } from '../stores/tables.ts'

/** Units that the ledger sums: money, with a table by day, and billed units. */
export type SummedUnit = 'nanoUsd' | UnitColumn

/** Returns true for a unit that the ledger sums. */
export function isSummedUnit (unit: string): unit is SummedUnit {
  return unit === 'nanoUsd' || unitColumns.some(column => column === unit)
}

interface Recorded {
  readonly used: number
}

/**
 * Returns the usage of a party's calls between two times, across all processes that share the store: in
 * billionths of a dollar, or in units. Reads one row per whole day, one per whole hour at both ends, and the
 * individual records of partial hours.
 *
 * @param party as named by `counterName` in `limits/sum-keys`
 * @param untilMs exclusive, may be Infinity
 */
export async function usedBetween (
  query: Kysely<Tables>,
  unit: SummedUnit,
  party: string,
  fromMs: number,
  untilMs: number
): Promise<number> {
  const {
    rows: [found]
  } = await usedBetweenSql(unit, party, { fromMs, untilMs }).execute(query)
  return found?.used ?? 0
}

/** Returns the equivalent SQLite statement, for a transaction that must not wait. */
export function usedBetweenStatement (
  unit: SummedUnit,
  party: string,
  fromMs: number,
  untilMs: number
): { readonly sql: string, readonly parameters: ReadonlyArray<string | number> } {
  const { sql: text, parameters } = usedBetweenSql(unit, party, { fromMs, untilMs }).compile(compiler)
  return { sql: text, parameters: parameters as ReadonlyArray<string | number> } // an id and times
}

/**
 * Compiles statements for SQLite without running them:
 * https://kysely.dev/docs/recipes/splitting-query-building-and-execution
 */
const compiler = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: database => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler()
  }
})

function usedBetweenSql (
  unit: SummedUnit,
  party: string,
  { fromMs, untilMs }: TimeRange
): RawBuilder<Recorded> {
  const window = { fromMs, untilMs: Math.min(untilMs, endOfTimeMs) }
  const pieces = isNamed(party)
    ? piecesOfNamed(unit, party, window)
    : piecesOfKeys(unit, keysOf(party), window)
  return sql<Recorded>`select coalesce(sum(amount), 0) as used from (${sql.join(pieces, sql` union all `)}) as parts`
}

/** End of a window without one: the last day that both engines can convert to milliseconds. */
const endOfTimeMs = dayOf(Number.MAX_SAFE_INTEGER)

/** True for a party named in records, whose usage is not a sum over keys. */
function isNamed (party: string): boolean {
  return /^(?:tag|end_user|model):/.test(party)
}

const memberPrefix = 'member:'

/** Returns the condition for the keys of a party: one key, those of a project, or those a member owns. */
function keysOf (party: string): RawBuilder<boolean> {
  if (!party.startsWith(memberPrefix))
    return sql`(key_id = ${party} or key_id in (select id from keys where project_id = ${party}))`
  const id = party.slice(memberPrefix.length)
  return sql`(key_id = ${id} or key_id in (select id from keys where owner_id = ${id}))`
}

function piecesOfKeys (
  unit: SummedUnit,
  ofParty: RawBuilder<boolean>,
  window: TimeRange
): RawBuilder<unknown>[] {
  const amount = sql.ref(unit === 'nanoUsd' ? 'cost_nano_usd' : unit)
  const days = splitBy(dayMs, [window])
  const hours = splitBy(hourMs, days.rest)
  return [
    ...days.whole.map(({ fromMs, untilMs }) => unit === 'nanoUsd'
      ? sql`select ${amount} as amount from spending where ${ofParty} and day_ms >= ${fromMs} and day_ms < ${untilMs}`
      : sql`select ${amount} as amount from usage_rollups where ${ofParty} and span_ms = ${dayMs} and from_ms >= ${fromMs} and from_ms < ${untilMs}`
    ),
    ...hours.whole.map(({ fromMs, untilMs }) => {
      const each = Array.from({ length: (untilMs - fromMs) / hourMs }, (_, hour) => fromMs + hour * hourMs)
      return sql`select ${amount} as amount from usage_rollups where ${ofParty} and span_ms = ${hourMs} and from_ms in (${sql.join(each)})`
    }),
    ...hours.rest.map(({ fromMs, untilMs }) =>
      sql`select coalesce(${amount}, 0) as amount from usage where ${ofParty} and at_ms >= ${fromMs} and at_ms < ${untilMs}`
    )
  ]
}

/**
 * These parties have budgets and no other limits. Their windows begin on a quarter of an hour
 * (`config/check-cross-references`).
 */
function piecesOfNamed (unit: SummedUnit, party: string, window: TimeRange): RawBuilder<unknown>[] {
  if (unit !== 'nanoUsd') return [sql`select 0 as amount`]
  const days = splitBy(dayMs, [window])
  const sumsOf = (spanMs: number) => ({ fromMs, untilMs }: TimeRange): RawBuilder<unknown> =>
    sql`select cost_nano_usd as amount from party_spending where party = ${party} and span_ms = ${spanMs} and from_ms >= ${fromMs} and from_ms < ${untilMs}`
  return [...days.whole.map(sumsOf(dayMs)), ...days.rest.map(sumsOf(quarterMs))]
}

/** Splits ranges into whole UTC days or hours, and the rest before and after. */
function splitBy (
  unitMs: number,
  ranges: readonly TimeRange[]
): { readonly whole: readonly TimeRange[], readonly rest: readonly TimeRange[] } {
  const whole: TimeRange[] = []
  const rest: TimeRange[] = []
  for (const range of ranges) {
    const { fromMs, untilMs } = range
    const [firstMs, lastMs] = [Math.ceil(fromMs / unitMs) * unitMs, Math.floor(untilMs / unitMs) * unitMs]
    if (firstMs >= lastMs) {
      rest.push(range)
      continue
    }
    whole.push({ fromMs: firstMs, untilMs: lastMs })
    if (fromMs < firstMs) rest.push({ fromMs, untilMs: firstMs })
    if (lastMs < untilMs) rest.push({ fromMs: lastMs, untilMs })
  }
  return { whole, rest }
}
