/** Opens a PostgreSQL store, which several gateways can share, through Kysely. */

import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import { prunePartySpending } from '../party-spending.ts'
import { pruneRollups } from '../prune-rollups.ts'
import { StoreError } from '../store-error.ts'
import { checkNamedFiles, serverAddress, type ServerAddress } from './server-address.ts'
import { serverConnections } from './server-connections.ts'
import { addNames, type RunSql } from './add-names.ts'
import { insertUsage, insertUsageWithin } from './insert-usage.ts'
import { migrate } from './migrate.ts'
import { Partitions } from './partitions.ts'
import { pruneUsage } from './prune-usage.ts'
import { serverClock } from './server-clock.ts'
import type { Secret } from '../../core/secret.ts'
import type { Database, DatabaseOptions, StoreLocation } from '../database.ts'
import type { Tables } from '../tables.ts'

export type PostgresPlace = StoreLocation['store'] & { readonly url: Secret }

/** Milliseconds to wait beyond the server's own query timeout: the connection has stalled. */
const stalledMs = 1000

/**
 * Opens the store and migrates its tables.
 *
 * @throws StoreError
 */
export async function openPostgres (
  dataDir: string,
  { url, poolSize, connectMs, statementMs }: PostgresPlace,
  { maxConnections = poolSize }: DatabaseOptions = {}
): Promise<Database> {
  const server = readAddress(url)
  const { Pool, types } = await import('pg')
  const pool = new Pool({
    connectionString: url.reveal(),
    ...server.needsTls && { ssl: true },
    application_name: 'headgate',
    max: maxConnections,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    query_timeout: statementMs + stalledMs,
    keepAlive: true,
    types: {
      getTypeParser: (type, format) =>
        integerTypes.has(type) ? readInteger : types.getTypeParser(type, format)
    }
  })
  const { name } = server
  const connected = serverConnections(pool, name)
  try {
    checkNamedFiles(url.reveal())
    await connected.use(migrate)
    const clock = await serverClock(connected)
    const query = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: connected }) })
    const partitions = new Partitions(connected)
    return {
      name,
      directory: dataDir,
      query,
      now: clock.now,
      skipLocked: claimed => claimed.forUpdate().skipLocked(),
      lockRows: found => found.forNoKeyUpdate(),
      maxBatchRows: 1000,
      maxSummedRows: 1000,
      insertUsage: async rows => await insertUsage(connected, partitions, rows),
      transaction: async (moments, work) => {
        await partitions.make(moments)
        return await query.transaction().execute(
          async transaction =>
            await work({
              query: transaction,
              insertUsage: async rows => await insertUsageWithin(runIn(transaction), rows),
              addNames: async (rows, sign) => await addNames(runIn(transaction), rows, sign)
            })
        )
      },
      pruneUsage: async (retention, nowMs) => {
        await pruneUsage(partitions, retention, nowMs)
        await pruneRollups(query, retention, nowMs)
        await prunePartySpending(query, nowMs)
      },
      isReachable: connected.isReachable,
      queries: connected.queries,
      storeFileIntact: () => true,
      stopWaiting: () => undefined, // no query blocks the process
      checkWritable: async () => await checkWritable(query, name),
      close: async () => {
        clock.stop()
        await query.destroy()
        if (!pool.ended) await pool.end() // Kysely closes only what it has used
      }
    }
  } catch (error) {
    await pool.end()
    throw error instanceof StoreError ? error : new StoreError(name, error)
  }
}

function runIn (transaction: Kysely<Tables>): RunSql {
  return async (text, values) => (await transaction.executeQuery(CompiledQuery.raw(text, [...values]))).rows
}

async function checkWritable (query: Kysely<Tables>, name: string): Promise<void> {
  try {
    await query.updateTable('keys').set({ name: '' }).where('id', '=', '').execute() // no such key exists
  } catch (error) {
    throw error instanceof StoreError ? error : new StoreError(name, error)
  }
}

/** @throws StoreError */
function readAddress (url: Secret): ServerAddress {
  const address = serverAddress(url.reveal())
  if (address === undefined) {
    throw new StoreError('of `store.url`', 'it is not an address such as postgres://user:password@host/name')
  }
  return address
}

/** `bigint`, and `numeric`, the type of its sums. */
const integerTypes: ReadonlySet<number> = new Set([20, 1700])

/** @throws RangeError as SQLite does: inexact integers are not read */
function readInteger (text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the number ${text} is out of range`)
  return value
}
