/** Reads tables of a database that belongs to another program. */

import { serverAddress } from './server-address.ts'
import type { Secret } from '../../core/secret.ts'
import type { JsonObject } from '../../json/guards.ts'

export interface ForeignTables {
  /** Rows of the tables that were wanted and are there, as PostgreSQL prints them in JSON. */
  readonly rows: ReadonlyMap<string, readonly JsonObject[]>
  /** Other tables that have a row. */
  readonly others: readonly string[]
}

/** Milliseconds for one statement: a table of some million rows takes seconds. */
const statementMs = 120_000
const connectMs = 10_000

/**
 * Reads whole tables in one transaction that can write nothing, as they are at one moment.
 *
 * @param url may have `?schema=NAME`, as Prisma writes it
 * @param prefix of the names of the tables to look at
 * @throws the error of the driver when the database cannot be reached or read
 */
export async function readForeignTables (
  url: Secret,
  prefix: string,
  wanted: ReadonlySet<string>
): Promise<ForeignTables> {
  const { Client } = await import('pg')
  const connectionString = url.reveal()
  const client = new Client({
    connectionString,
    ...serverAddress(connectionString)?.needsTls === true && { ssl: true },
    application_name: 'headgate import',
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs
  })
  client.on('error', () => undefined) // the query that it breaks is rejected as well
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
      if (wanted.has(table)) {
        const { rows: lines } = await client.query<{ line: JsonObject }>(
          `select to_json(found) as line from ${name} as found order by found::text`
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
