/**
 * Copies a store into another one of either engine. Existing rows are overwritten or kept, so an interrupted
 * copy can be repeated. Usage rows, the largest part, resume where they stopped.
 */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { yieldFairly } from '../async/yield-fairly.ts'
import { unitColumns } from '../../schemas/billed-units.ts'
import { nameRollupKey } from './name-rollups.ts'
import { backfillStep } from './backfill-step.ts'
import { rollupSums } from './usage-rollups.ts'
import type { Database } from './database.ts'
import type { Tables, UsageRow } from './tables.ts'

interface Plan {
  /** The columns that identify and order the rows. */
  readonly key: readonly string[]
  /** Columns whose sums are compared, too. */
  readonly sums?: readonly string[]
}

/**
 * All tables, ordered so that each refers only to earlier ones; `undefined` for tables that matter only while
 * gateways run. Usage comes before the sums derived from its rows, and after the names that the sums
 * distinguish.
 */
const plans: Readonly<Record<keyof Tables, Plan | undefined>> = {
  secrets: { key: ['name'] },
  projects: { key: ['id'] },
  users: { key: ['id'] },
  members: { key: ['project_id', 'user_id'] },
  imported: { key: ['source', 'kind', 'source_id'] },
  sessions: { key: ['digest'] },
  sign_in_links: { key: ['digest'] },
  passkeys: { key: ['id'] },
  identities: { key: ['issuer', 'subject'] },
  invitations: { key: ['id'] },
  admin_keys: { key: ['id'] },
  audit: { key: ['at_ms', 'id'] },
  keys: { key: ['id'], sums: ['created_at_ms'] },
  counted_names: { key: ['kind', 'from_ms', 'project_id', 'name'] },
  usage: { key: ['at_ms', 'id'], sums: ['cost_nano_usd', ...unitColumns, 'duration_ms'] },
  usage_rollups: { key: ['span_ms', 'from_ms', 'key_id', 'model', 'provider', 'endpoint'], sums: rollupSums },
  name_rollups: { key: nameRollupKey, sums: rollupSums },
  rollup_backlog: undefined,
  spending: { key: ['key_id', 'day_ms'], sums: ['cost_nano_usd'] },
  party_spending: { key: ['span_ms', 'party', 'from_ms'], sums: ['cost_nano_usd'] },
  call_bodies: { key: ['id'], sums: ['expires_at_ms'] },
  deferred: { key: ['id'], sums: ['size_bytes'] },
  responses: { key: ['id'], sums: ['size_bytes'] },
  response_items: { key: ['key_id', 'item_id'] },
  response_events: { key: ['response_id', 'sequence_number'] },
  text_pieces: { key: ['owner_id', 'name', 'number'] },
  alerts: { key: ['at_ms', 'id'] },
  alert_deliveries: { key: ['alert_id', 'channel'] },
  usage_exports: { key: ['target', 'from_ms'] },
  alert_conditions: undefined,
  leases: undefined,
  challenges: undefined,
  idempotent_answers: undefined,
  gateways: undefined,
  holdings: undefined
}

/** Rows per step; rows with texts may have a megabyte each. */
const stepRows = 100
const usageStepRows = 500

export interface CopyProgress {
  readonly table: string
  /** Rows of the source, and how many of them are copied. */
  readonly rows: number
  readonly copied: number
}

export interface TableDifference {
  readonly table: string
  /** `rows`, or a column whose sum differs. */
  readonly measure: string
  readonly from: number
  readonly to: number
}

type AnyQuery = Kysely<Tables>
type Row = Readonly<Record<string, unknown>>

/**
 * Copies everything, after summing up what an older source has not. The source must not change during the
 * copy.
 *
 * @returns the remaining differences: none unless one of the stores was written to
 */
export async function copyStore (
  from: Database,
  to: Database,
  onProgress: (progress: CopyProgress) => void
): Promise<TableDifference[]> {
  const differences: TableDifference[] = []
  while (await backfillStep(from) !== undefined) await yieldFairly()
  for (const [table, plan] of Object.entries(plans)) {
    if (plan === undefined) continue
    if (table === 'usage')
      await copyTable<UsageRow>(
        from.query,
        table,
        plan,
        { rows: usageStepRows, write: to.insertUsage, after: await lastCopied(from.query, to.query) },
        onProgress
      )
    else
      await copyTable<Row>(
        from.query,
        table,
        plan,
        { rows: stepRows, write: async rows => await writeOver(to.query, table, plan.key, rows) },
        onProgress
      )
    differences.push(...(await compare(from.query, to.query, table, plan)))
  }
  return differences
}

/** Returns the number of copied rows per table. */
export async function countRows ({
  query
}: Database): Promise<ReadonlyArray<readonly [table: string, rows: number]>> {
  const tables = Object.entries(plans).flatMap(([table, plan]) => (plan === undefined ? [] : table))
  return await Promise.all(tables.map(async table => [table, await countOf(query, table)] as const))
}

interface Steps<R> {
  /** Rows per step. */
  readonly rows: number
  readonly write: (rows: R[]) => Promise<unknown>
  /** The key where an earlier copy stopped; its first column is `at_ms`. */
  readonly after?: readonly unknown[] | undefined
}

async function copyTable<R extends object> (
  from: AnyQuery,
  table: string,
  { key }: Plan,
  { rows: perStep, write, after: begin }: Steps<R>,
  onProgress: (progress: CopyProgress) => void
): Promise<void> {
  const rows = await countOf(from, table)
  let after = begin
  let copied = begin === undefined ? 0 : await countOf(from, table, sql`at_ms <= ${begin[0]}`)
  onProgress({ table, rows, copied })
  for (;;) {
    const step = await pageOf<R>(from, table, key, after, perStep)
    const last = step.at(-1)
    if (last === undefined) return
    await write(step)
    after = key.map((column): unknown => Reflect.get(last, column))
    copied += step.length
    onProgress({ table, rows, copied })
  }
}

/**
 * Returns where an earlier copy stopped: the last time up to which both stores have the same number of
 * records.
 */
async function lastCopied (from: AnyQuery, to: AnyQuery): Promise<unknown[] | undefined> {
  const { last } = await to
    .selectFrom('usage')
    .select(({ fn }) => fn.max('at_ms').as('last'))
    .executeTakeFirstOrThrow()
  if (last === null) return undefined
  const before = sql`at_ms < ${last}`
  const isSame = await countOf(from, 'usage', before) === await countOf(to, 'usage', before)
  return isSame ? [last - 1, '\u{10FFFF}'] : undefined
}

async function pageOf<R> (
  query: AnyQuery,
  table: string,
  key: readonly string[],
  after: readonly unknown[] | undefined,
  limit: number
): Promise<R[]> {
  const columns = sql.join(key.map(column => sql.ref(column)))
  const rest = after === undefined ? sql`` : sql`where (${columns}) > (${sql.join(after)})`
  const { rows } =
    await sql<R>`select * from ${sql.table(table)} ${rest} order by ${columns} limit ${sql.lit(limit)}`.execute(
      query
    )
  return rows
}

async function writeOver (
  query: AnyQuery,
  table: string,
  key: readonly string[],
  rows: readonly Row[]
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const values = rows.map(row => sql`(${sql.join(columns.map(column => row[column]))})`)
  const updates = columns.map(column => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
  await sql`insert into ${sql.table(table)} (${sql.join(columns.map(column => sql.ref(column)))}) values ${sql.join(values)}
    on conflict (${sql.join(key.map(column => sql.ref(column)))}) do update set ${sql.join(updates)}`.execute(
    query
  )
}

async function compare (
  from: AnyQuery,
  to: AnyQuery,
  table: string,
  { sums = [] }: Plan
): Promise<TableDifference[]> {
  const measures: ReadonlyArray<readonly [what: string, value: RawBuilder<number>]> = [
    ['rows', sql`count(*)`],
    // Sums remainders, because the sum of all times would exceed the safe integers.
    ...sums.map(column => [column, sql<number>`coalesce(sum(${sql.ref(column)} % 1000003), 0)`] as const)
  ]
  const differences: TableDifference[] = []
  for (const [measure, value] of measures) {
    const [one, other] = await Promise.all(
      [from, to].map(
        async query => await read(query, sql`select ${value} as number from ${sql.table(table)}`)
      )
    )
    if (one !== undefined && other !== undefined && one !== other) {
      differences.push({ table, measure, from: one, to: other })
    }
  }
  return differences
}

async function countOf (
  query: AnyQuery,
  table: string,
  condition: RawBuilder<unknown> = sql`1 = 1`
): Promise<number> {
  return await read(query, sql`select count(*) as number from ${sql.table(table)} where ${condition}`)
}

async function read (query: AnyQuery, select: RawBuilder<unknown>): Promise<number> {
  const { rows: [row] } = await sql<{ number: number }>`${select}`.execute(query)
  return row?.number ?? 0
}
