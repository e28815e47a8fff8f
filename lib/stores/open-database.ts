import { openSqlite } from './sqlite/open.ts'
import type { Database, DatabaseOptions, SqliteDatabase, StoreLocation } from './database.ts'

/**
 * Opens the store and migrates its tables: PostgreSQL if `store.url` is set, otherwise SQLite in the data
 * directory. PostgreSQL is loaded on demand.
 *
 * @param location a path is the directory of the embedded store
 * @throws StoreError
 */
export async function openDatabase (location: string, options?: DatabaseOptions): Promise<SqliteDatabase>
export async function openDatabase (location: StoreLocation, options?: DatabaseOptions): Promise<Database>
export async function openDatabase (
  location: string | StoreLocation,
  options: DatabaseOptions = {}
): Promise<Database> {
  if (typeof location === 'string') return await openSqlite(location, options)
  const { server: { dataDir }, store } = location
  if (store.url === undefined) return await openSqlite(dataDir, options)
  const { openPostgres } = await import('./postgres/open.ts')
  return await openPostgres(dataDir, { ...store, url: store.url }, options)
}
