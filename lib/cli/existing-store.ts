import { existsSync } from 'node:fs'
import { CommandError } from '../process/terminal.ts'
import { databasePath } from '../stores/sqlite/database-file.ts'
import type { StoreLocation } from '../stores/database.ts'

/**
 * Refuses an embedded store without a file, for commands that only read or delete: opening it would create
 * it.
 *
 * @throws CommandError
 */
export function requireStore ({ server, store }: StoreLocation): void {
  const path = databasePath(server.dataDir)
  if (store.url === undefined && !existsSync(path)) throw new CommandError(`there is no store at ${path}`)
}
