/**
 * Runs tests of what the store holds on SQLite, and on PostgreSQL where `HEADGATE_TEST_POSTGRES` is the
 * address of one:
 *
 * ```sh
 * HEADGATE_TEST_POSTGRES=postgres://postgres@127.0.0.1/postgres npx tap --disable-coverage
 * build/test/stores/*.test.js
 * ```
 */

import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { StoreError } from '../../lib/stores/store-error.ts'
import { settings } from './settings.ts'
import type { KyselyPlugin } from 'kysely'
import type { Test } from 'tap'
import type { Database, DatabaseOptions, StoreLocation } from '../../lib/stores/database.ts'
import type { Tables } from '../../lib/stores/tables.ts'

/** Opens the store of a test, closed after it. Each opening gives the same store. */
export type OpenStore = (options?: DatabaseOptions) => Promise<Database>

const address = process.env['HEADGATE_TEST_POSTGRES']

/** The reason why tests on PostgreSQL are skipped; false if they run. */
export const noPostgres = address === undefined && 'HEADGATE_TEST_POSTGRES is not the address of a PostgreSQL'

/** Returns a store for a test that runs once: on PostgreSQL if there is one. */
export async function testPlace (t: Test): Promise<StoreLocation> {
  return noPostgres === false ? await postgresPlace(t) : sqlitePlace(t)
}

/** Adds a test of one behaviour, once for each engine. */
export function storeTest (
  name: string,
  run: (t: Test, open: OpenStore, place: StoreLocation) => Promise<void>
): void {
  void t.test(name, async t => await run(t, ...opening(t, sqlitePlace(t))))
  void t.test(
    `${name} (PostgreSQL)`,
    { skip: noPostgres },
    async t => await run(t, ...opening(t, await postgresPlace(t)))
  )
}

function opening (t: Test, place: StoreLocation): [OpenStore, StoreLocation] {
  return [async options => {
    const database = await openDatabase(place, options)
    t.teardown(database.close)
    return database
  }, place]
}

function sqlitePlace (t: Test): StoreLocation {
  const { server, store } = settings()
  return { server: { ...server, dataDir: t.testdir() }, store }
}

/**
 * Returns a new schema, dropped after the test.
 * @param server the address of another server than that of all tests
 */
export async function postgresPlace (
  t: Test,
  parts: Partial<StoreLocation['store']> = {},
  server = address ?? ''
): Promise<StoreLocation> {
  const { server: at, store } = settings()
  const schema = `test_${randomBytes(8).toString('hex')}`
  await query(server, `create schema ${schema}`)
  t.teardown(async () => await query(server, `drop schema ${schema} cascade`))
  const url = new URL(server)
  url.searchParams.set('options', `-c search_path=${schema}`)
  return { server: { ...at, dataDir: t.testdir() }, store: { ...store, url: new Secret(url.href), ...parts } }
}

async function query (server: string, sql: string): Promise<void> {
  const { Client } = await import('pg') // of tests that have their own server
  const client = new Client(server)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

export interface PieceLock {
  readonly plugin: KyselyPlugin
  /** Resolves when the second piece of a long text is waiting. */
  readonly reached: Promise<void>
  readonly release: () => void
}

/**
 * Makes a store behave as if locked by another process while the second piece of a long text is written, so
 * that it is retried.
 */
export function lockedAfterFirstPiece (): PieceLock {
  let pieces = 0
  let isLocked = true
  let wait = (): void => undefined
  const reached = new Promise<void>(resolve => { wait = resolve })
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      const isPiece = node.kind === 'InsertQueryNode' && node.into?.table.identifier.name === 'text_pieces'
      if (!isPiece || pieces++ === 0 || !isLocked) return node
      wait()
      throw new Error('database is locked')
    },
    transformResult: async ({ result }) => result
  }
  return { plugin, reached, release: () => { isLocked = false } }
}

/** Makes statements of a kind on a table fail like a lost connection, until `release` is called. */
export function failingAt (
  kind: 'InsertQueryNode' | 'SelectQueryNode',
  table: keyof Tables
): { readonly plugin: KyselyPlugin, readonly release: () => void } {
  let isUnreachable = true
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      const tables = node.kind === 'InsertQueryNode'
        ? [node.into]
        : node.kind === 'SelectQueryNode' ? node.from?.froms ?? [] : []
      const isOnTable = tables.some(one => JSON.stringify(one).includes(`"${table}"`))
      if (isUnreachable && node.kind === kind && isOnTable) {
        throw new StoreError('store', new Error('the connection was lost'))
      }
      return node
    },
    transformResult: async ({ result }) => result
  }
  return { plugin, release: () => { isUnreachable = false } }
}
