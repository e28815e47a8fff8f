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
 * Returns what the calls of a party have used since a moment, with those of all processes that share the
 * store: in billionths of a dollar, or in units. Reads a row for each day, of the first day its hours, and of
 * the first hour its records, where the moment is in the middle of these.
 *
 * @param party as `partyName` of `limits/call-accounts` names it
 */
export async function usedSince (
  query: Kysely<Tables>,
  unit: SummedUnit,
  party: string,
  fromMs: number,
  untilMs: number
): Promise<number> {
  const {
    rows: [found]
  } = await usedSinceSql(unit, party, fromMs, untilMs).execute(query)
  return found?.used ?? 0
}

/** Returns the statement of SQLite that reads it, for a transaction that must not wait. */
export function usedSinceStatement (
  unit: SummedUnit,
  party: string,
  fromMs: number,
  untilMs: number
): { readonly sql: string, readonly parameters: ReadonlyArray<string | number> } {
  const { sql: text, parameters } = usedSinceSql(unit, party, fromMs, untilMs).compile(compiler)
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
  untilMs: number
): RawBuilder<Recorded> {
  const pieces = isNamed(party)
    ? piecesOfNamed(unit, party, fromMs, untilMs)
    : piecesOfKeys(unit, keysOf(party), fromMs, untilMs)
  return sql<Recorded>`select coalesce(sum(amount), 0) as used from (${sql.join(pieces, sql` union all `)}) as parts`
}

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
  fromMs: number,
  untilMs: number
): RawBuilder<unknown>[] {
  const amount = sql.ref(unit === 'nanoUsd' ? 'cost_nano_usd' : unit)
  const firstHour = Math.ceil(fromMs / hourMs) * hourMs
  const firstDay = Math.ceil(fromMs / dayMs) * dayMs
  const lastDay = dayOf(untilMs)
  const pieces = [
    unit === 'nanoUsd'
      ? sql`select ${amount} as amount from spending where ${ofParty} and day_ms >= ${firstDay} and day_ms <= ${lastDay}`
      : sql`select ${amount} as amount from usage_rollups where ${ofParty} and span_ms = ${dayMs} and from_ms >= ${firstDay} and from_ms <= ${lastDay}`
  ]
  const hours = Array.from(
    { length: (firstDay - firstHour) / hourMs },
    (_, hour) => firstHour + hour * hourMs
  )
  if (hours.length > 0) {
    pieces.push(
      sql`select ${amount} as amount from usage_rollups where ${ofParty} and span_ms = ${hourMs} and from_ms in (${sql.join(hours)})`
    )
  }
  if (firstHour > fromMs) {
    pieces.push(
      sql`select coalesce(${amount}, 0) as amount from usage where ${ofParty} and at_ms >= ${fromMs} and at_ms < ${firstHour}`
    )
  }
  return pieces
}

/**
 * Such parties have budgets and no other sums. Their windows begin at a quarter of an hour:
 * `config/check-cross-references`.
 */
function piecesOfNamed (
  unit: SummedUnit,
  party: string,
  fromMs: number,
  untilMs: number
): RawBuilder<unknown>[] {
  if (unit !== 'nanoUsd') return [sql`select 0 as amount`]
  const firstDay = Math.ceil(fromMs / dayMs) * dayMs
  const sums = sql`select cost_nano_usd as amount from party_spending where party = ${party}`
  const days = sql`${sums} and span_ms = ${dayMs} and from_ms >= ${firstDay} and from_ms <= ${dayOf(untilMs)}`
  const quarters = sql`${sums} and span_ms = ${quarterMs} and from_ms >= ${fromMs} and from_ms < ${firstDay}`
  return firstDay > fromMs ? [days, quarters] : [days]
}
