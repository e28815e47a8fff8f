/** Reads what the calls of a party have used since a moment, as the usage ledger has it. */

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
import { dayMs, dayOf } from '../core/day.ts'
import { quarterMs } from '../stores/party-spending.ts'
import { hourMs } from '../stores/usage-rollups.ts'
import type { Tables } from '../stores/tables.ts'

/** What the ledger adds up: money, which days have a table of their own for, and billed units. */
export type SummedUnit = 'nanoUsd' | UnitColumn

/** Returns true for what the ledger adds up. */
export function isSummed (unit: string): unit is SummedUnit {
  return unit === 'nanoUsd' || unitColumns.some(column => column === unit)
}

interface Recorded {
  readonly used: number
}

/**
 * Returns what the calls of a party have used between two moments, in all processes that share the store: in
 * billionths of a dollar, or in units. Reads one row per whole day, one per whole hour of the days at both
 * ends, and the records of the hours at both ends.
 *
 * @param party as `partyKey` of `limits/call-accounts` names it
 * @param endMs exclusive, may be Infinity
 */
export async function usedSince (
  query: Kysely<Tables>,
  unit: SummedUnit,
  party: string,
  fromMs: number,
  endMs: number
): Promise<number> {
  const {
    rows: [found]
  } = await usedSinceSql(unit, party, fromMs, endMs).execute(query)
  return found?.used ?? 0
}

/** Returns the statement of SQLite that reads it, for a transaction that must not wait. */
export function usedSinceStatement (
  unit: SummedUnit,
  party: string,
  fromMs: number,
  endMs: number
): { readonly sql: string, readonly parameters: ReadonlyArray<string | number> } {
  const { sql: text, parameters } = usedSinceSql(unit, party, fromMs, endMs).compile(compiler)
  return { sql: text, parameters: parameters as ReadonlyArray<string | number> } // the id and the times
}

/**
 * Prints statements of SQLite, and runs none:
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

function usedSinceSql (
  unit: SummedUnit,
  party: string,
  fromMs: number,
  endMs: number
): RawBuilder<Recorded> {
  const window: Stretch = [fromMs, Math.min(endMs, endOfTimeMs)]
  const pieces = isNamed(party)
    ? piecesOfNamed(unit, party, window)
    : piecesOfKeys(unit, keysOf(party), window)
  return sql<Recorded>`select coalesce(sum(amount), 0) as used from (${sql.join(pieces, sql` union all `)}) as parts`
}

/** The end of a window without one: a day of which both engines know the milliseconds. */
const endOfTimeMs = dayOf(Number.MAX_SAFE_INTEGER)

/** True for a party that records name: what it used is no sum of keys. */
function isNamed (party: string): boolean {
  return /^(?:tag|end_user|model):/.test(party)
}

const memberPrefix = 'member:'

/** Returns the condition for what counts in a key, in a project, or in the keys that a member owns. */
function keysOf (party: string): RawBuilder<boolean> {
  if (!party.startsWith(memberPrefix))
    return sql`(key_id = ${party} or key_id in (select id from keys where project_id = ${party}))`
  const id = party.slice(memberPrefix.length)
  return sql`(key_id = ${id} or key_id in (select id from keys where owner_id = ${id}))`
}

function piecesOfKeys (
  unit: SummedUnit,
  ofParty: RawBuilder<boolean>,
  window: Stretch
): RawBuilder<unknown>[] {
  const amount = sql.ref(unit === 'nanoUsd' ? 'cost_nano_usd' : unit)
  const days = splitBy(dayMs, [window])
  const hours = splitBy(hourMs, days.rest)
  return [
    ...days.whole.map(([fromMs, endMs]) => unit === 'nanoUsd'
      ? sql`select ${amount} as amount from spending where ${ofParty} and day_ms >= ${fromMs} and day_ms < ${endMs}`
      : sql`select ${amount} as amount from usage_rollups where ${ofParty} and span_ms = ${dayMs} and from_ms >= ${fromMs} and from_ms < ${endMs}`
    ),
    ...hours.whole.map(([fromMs, endMs]) => {
      const each = Array.from({ length: (endMs - fromMs) / hourMs }, (_, hour) => fromMs + hour * hourMs)
      return sql`select ${amount} as amount from usage_rollups where ${ofParty} and span_ms = ${hourMs} and from_ms in (${sql.join(each)})`
    }),
    ...hours.rest.map(([fromMs, endMs]) =>
      sql`select coalesce(${amount}, 0) as amount from usage where ${ofParty} and at_ms >= ${fromMs} and at_ms < ${endMs}`
    )
  ]
}

/**
 * Such parties have budgets and no other sums. Their windows begin at a quarter of an hour:
 * `config/check-cross-references`.
 */
function piecesOfNamed (unit: SummedUnit, party: string, window: Stretch): RawBuilder<unknown>[] {
  if (unit !== 'nanoUsd') return [sql`select 0 as amount`]
  const days = splitBy(dayMs, [window])
  const sumsOf = (spanMs: number) => ([fromMs, endMs]: Stretch): RawBuilder<unknown> =>
    sql`select cost_nano_usd as amount from party_spending where party = ${party} and span_ms = ${spanMs} and from_ms >= ${fromMs} and from_ms < ${endMs}`
  return [...days.whole.map(sumsOf(dayMs)), ...days.rest.map(sumsOf(quarterMs))]
}

/** From a moment to another, exclusive. */
type Stretch = readonly [fromMs: number, endMs: number]

/** Splits stretches of time into whole days or hours of UTC, and what is before and after those. */
function splitBy (
  unitMs: number,
  stretches: readonly Stretch[]
): { readonly whole: readonly Stretch[], readonly rest: readonly Stretch[] } {
  const whole: Stretch[] = []
  const rest: Stretch[] = []
  for (const [fromMs, endMs] of stretches) {
    const [firstMs, lastMs] = [Math.ceil(fromMs / unitMs) * unitMs, Math.floor(endMs / unitMs) * unitMs]
    if (firstMs >= lastMs) {
      rest.push([fromMs, endMs])
      continue
    }
    whole.push([firstMs, lastMs])
    if (fromMs < firstMs) rest.push([fromMs, firstMs])
    if (lastMs < endMs) rest.push([lastMs, endMs])
  }
  return { whole, rest }
}
