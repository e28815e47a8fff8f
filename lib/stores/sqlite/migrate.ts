import { lastNumber, migrations, newerVersion } from '../migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/**
 * Applies all missing steps of a file, or none. If several processes start together, the first applies them
 * while the others wait.
 *
 * @throws Error for a newer file, and errors of SQLite
 */
export function migrate (file: DatabaseSyncInstance, steps: readonly Migration[] = migrations): void {
  const newest = lastNumber(steps)
  const found = lastStep(file)
  if (found > newest) throw newerVersion(found, newest)
  if (found === newest) return
  file.exec('begin immediate')
  try {
    file.exec(
      'create table if not exists migrations (number bigint primary key, applied_at_ms bigint not null)'
    )
    // Read again: another process may have applied them by now.
    const done = lastStep(file)
    const insert = file.prepare('insert into migrations (number, applied_at_ms) values (?, ?)')
    for (const { number, sql } of steps) {
      if (number <= done) continue
      file.exec(sql)
      insert.run(number, Date.now())
    }
    file.exec('commit')
  } catch (error) {
    // A full disk has already caused a rollback.
    if (file.isTransaction) file.exec('rollback')
    throw error
  }
}

/** Returns the number of the last step applied; 0 for a new file. */
function lastStep (file: DatabaseSyncInstance): number {
  const table = file.prepare("select 1 from sqlite_master where type = 'table' and name = 'migrations'").get()
  if (table === undefined) return 0
  const row = file.prepare('select max(number) as number from migrations').get()
  return Number(row?.['number'] ?? 0)
}
