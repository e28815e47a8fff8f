/** Changes of the schema, one gateway at a time. */

import type { PoolClient } from 'pg'

/**
 * The advisory lock for schema changes:
 * https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS
 */
const schemaLock = 7_403_651

/**
 * Runs `work` in one transaction while no other gateway changes the schema. There is no time limit: waiting
 * for another gateway, or a step on a large table, may take longer than any query of a call.
 */
export async function locked<T> (client: Pick<PoolClient, 'query'>, work: () => Promise<T>): Promise<T> {
  await client.query('begin; set local statement_timeout = 0')
  try {
    await client.query(untimed(`select pg_advisory_xact_lock(${schemaLock})`))
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // the connection may be what failed; the original error is more useful
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Returns a query with the longest possible client timeout. In `locked` the server has none. */
export function untimed (text: string): { readonly text: string, readonly query_timeout: number } {
  return { text, query_timeout: 2 ** 31 - 1 }
}
