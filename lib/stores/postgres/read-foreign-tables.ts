/** Reads tables from another program's database. */

import { checkNamedFiles, serverAddress } from './server-address.ts'
import type { Client } from 'pg'
import type { Secret } from '../../core/secret.ts'
import type { JsonObject } from '../../json/type-guards.ts'

export interface ForeignTables {
  /** Rows of the wanted tables that exist, in PostgreSQL's JSON format. */
  readonly rows: ReadonlyMap<string, readonly JsonObject[]>
  /** Other tables that are not empty. */
  readonly others: readonly string[]
}

/** A table with too many rows to read, of which only sums are read. */
export interface SummedTable {
  /** Columns to group by. */
  readonly by: readonly string[]
  /** Numeric columns to sum. Missing columns are skipped. */
  readonly sums: readonly string[]
}

/** Milliseconds per statement; a table of a few million rows takes seconds. */
const statementMs = 120_000
const connectMs = 10_000

/**
 * Reads whole tables in one read-only transaction, as one consistent snapshot.
 *
 * @param url may have `?schema=NAME`, as Prisma writes it
 * @param prefix of the table names to consider
 * @param wanted tables to read, with the sums to compute for summed ones
 * @throws errors of the driver if the database cannot be reached or read, and that of `checkNamedFiles`
 */
export async function readForeignTables (
  url: Secret,
  prefix: string,
  wanted: ReadonlyMap<string, SummedTable | 'rows'>
): Promise<ForeignTables> {
  const { Client } = await import('pg')
  const connectionString = url.reveal()
  checkNamedFiles(connectionString)
  const client = new Client({
    connectionString,
    ...serverAddress(connectionString)?.needsTls === true && { ssl: true },
    application_name: 'headgate import',
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs
  })
  client.on('error', () => undefined) // the current query rejects too
  try {
    await client.connect()
    await client.query('begin transaction isolation level repeatable read read only')
    const schema = new URL(connectionString).searchParams.get('schema')
    if (schema !== null) {
      await client.query("select set_config('search_path', quote_ident($1), true)", [schema])
    }
    const { rows: found } = await client.query<{ table: string }>(
      `select tablename as table from pg_tables
       where schemaname = current_schema() and starts_with(tablename, $1) order by 1`,
      [prefix]
    )
    const rows = new Map<string, JsonObject[]>()
    const others: string[] = []
    for (const { table } of found) {
      const name = client.escapeIdentifier(table)
      const how = wanted.get(table)
      if (how !== undefined) {
        const source = how === 'rows' ? name : await summed(client, table, how)
        const { rows: lines } = await client.query<{ line: JsonObject }>(
          `select to_json(found) as line from ${source} as found order by found::text`
        )
        rows.set(table, lines.map(({ line }) => line))
      } else {
        const { rows: lines } = await client.query(`select from ${name} limit 1`)
        if (lines.length > 0) others.push(table)
      }
    }
    await client.query('commit')
    return { rows, others }
  } finally {
    await client.end().catch(() => undefined) // the connection may be broken
  }
}

/** Returns the query for a table's sums, in parentheses. */
async function summed (client: Client, table: string, { by, sums }: SummedTable): Promise<string> {
  const { rows } = await client.query<{ column: string }>(
    `select column_name as column from information_schema.columns
     where table_schema = current_schema() and table_name = $1`,
    [table]
  )
  const present = new Set(rows.map(({ column }) => column))
  const names = (wanted: readonly string[]): string[] =>
    wanted.filter(column => present.has(column)).map(column => client.escapeIdentifier(column))
  const added = names(sums).map(column => `sum(${column}) as ${column}`)
  const groups = names(by)
  const name = client.escapeIdentifier(table)
  return `(select ${[...groups, ...added].join(', ')} from ${name} group by ${groups.join(', ')})`
}
