/** Connections to PostgreSQL in the form that Kysely expects. A connection that failed is not reused. */

import { Histogram, roundTripBounds, type HistogramValue } from '../../core/histogram.ts'
import { StoreError } from '../store-error.ts'
import { storableText } from '../storable-text.ts'
import type { Pool, PoolClient } from 'pg'
import type { PostgresPool, PostgresPoolClient } from 'kysely'

export interface ServerConnections extends PostgresPool {
  /** Runs `work` with one connection. */
  readonly use: <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>
  /** Returns false from a query or connection attempt that failed until the next success. */
  readonly isReachable: () => boolean
  /** Returns the seconds spent in each query and each use of a connection. */
  readonly queries: () => HistogramValue
}

/** @param name the store's name in errors */
export function serverConnections (pool: Pool, name: string): ServerConnections {
  let reachable = true
  const times = new Histogram(roundTripBounds)
  const timed = async <T>(work: () => Promise<T>): Promise<T> => {
    const startedAtMs = performance.now()
    try {
      return await noted(work)
    } finally {
      times.observe((performance.now() - startedAtMs) / 1000)
    }
  }
  const noted = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await work()
      reachable = true
      return result
    } catch (error) {
      if (isRefusal(error)) throw error
      reachable = false
      throw new StoreError(name, error)
    }
  }
  // A broken connection does not mean that the server is unreachable: the next query shows that. Without
  // listeners these events would end the process.
  const ignore = (): void => {}
  pool.on('error', ignore)
  pool.on('connect', client => { client.on('error', ignore) })

  const connect = async (): Promise<PoolClient> => await noted(async () => await pool.connect())
  return {
    connect: async () => {
      const client = await connect()
      let failed = false
      const query = async (sql: string, values: readonly unknown[]) => {
        try {
          return await timed(async () => await client.query(sql, values.map(storable)))
        } catch (error) {
          // A query that timed out may still be running: later queries on this connection would wait for it.
          failed ||= !isRefusal(error)
          throw error
        }
      }
      // Kysely needs a second form of `query` only for streaming, which is not used, and names the commands
      // of results, which `pg` has as text.
      return { query, release: () => client.release(failed) } as unknown as PostgresPoolClient
    },
    use: async work => {
      const client = await connect()
      let failed = true
      try {
        const result = await timed(async () => await work(client))
        failed = false
        return result
      } catch (error) {
        failed = !isRefusal(error)
        throw error
      } finally {
        client.release(failed)
      }
    },
    isReachable: () => reachable,
    queries: () => times.value,
    end: async () => await pool.end()
  }
}

function storable (value: unknown): unknown {
  return typeof value === 'string' ? storableText(value) : value
}

/**
 * Error codes after which a new connection is needed: a query was canceled, such as by `statement_timeout`,
 * or a write was refused because only reads are allowed. After a failover an old connection may lead to a
 * server that is a replica now; a new one looks the host up again.
 */
const needsNewConnection: ReadonlySet<unknown> = new Set(['57014', '25006'])

/**
 * Returns true for an error response after which the connection remains usable, and for a value that cannot
 * be read. A query that took too long is none of these: a server that slow is as good as unreachable. So is
 * one that accepts no writes.
 */
function isRefusal (error: unknown): boolean {
  if (error instanceof RangeError) return true
  if (!(error instanceof Error && 'severity' in error && error.severity === 'ERROR')) return false
  return !('code' in error && needsNewConnection.has(error.code))
}
