import { lastNumber, migrations, newerVersion } from '../migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import { locked, untimed } from './lock.ts'
import type { PoolClient } from 'pg'

/**
 * Applies all missing steps of a database, or none. If several gateways start together, the first applies
 * them while the others wait.
 *
 * @throws Error for a newer database, and errors of PostgreSQL
 */
export async function migrate (client: PoolClient, steps: readonly Migration[] = migrations): Promise<void> {
  const newest = lastNumber(steps)
  const found = await lastStep(client)
  if (found > newest) throw newerVersion(found, newest)
  if (found === newest) return
  await locked(client, async () => {
    await client.query(
      'create table if not exists migrations (number bigint primary key, applied_at_ms bigint not null)'
    )
    // Read again: another gateway may have applied them by now.
    const done = await lastStep(client)
    for (const { number, sql, postgres } of steps) {
      if (number <= done) continue
      await client.query(untimed(withRowid(postgres?.(sql) ?? sql)))
      await client.query('insert into migrations (number, applied_at_ms) values ($1, $2)', [
        number,
        Date.now()
      ])
    }
  })
}

function withRowid (sql: string): string {
  return sql.replaceAll('without rowid', '')
}

/** Returns the number of the last step applied; 0 for a new database. */
async function lastStep (client: PoolClient): Promise<number> {
  const {
    rows: [known]
  } = await client.query<{ found: boolean }>("select to_regclass('migrations') is not null as found")
  if (known?.found !== true) return 0
  const {
    rows: [last]
  } = await client.query<{ number: number | null }>('select max(number) as number from migrations')
  return last?.number ?? 0
}
