import { openSqlite } from './sqlite/open.ts'
import type { Database, DatabaseOptions, SqliteDatabase, StorePlace } from './database.ts'

/**
 * Opens the store, and migrates its tables first: PostgreSQL where `store.url` names one, else SQLite in the
 * data directory. PostgreSQL is loaded only then.
 *
 * @param place a path is the directory of the embedded store
 * @throws StoreError
 */
export async function openDatabase (place: string, options?: DatabaseOptions): Promise<SqliteDatabase>
export async function openDatabase (place: StorePlace, options?: DatabaseOptions): Promise<Database>
export async function openDatabase (
  place: string | StorePlace,
  options: DatabaseOptions = {}
): Promise<Database> {
  if (typeof place === 'string') return await openSqlite(place, options)
  const { server: { dataDir }, store } = place
  if (store.url === undefined) return await openSqlite(dataDir, options)
  const { openPostgres } = await import('./postgres/open.ts')
  return await openPostgres(dataDir, { ...store, url: store.url }, options)
}
