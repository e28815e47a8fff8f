import { dayOf } from '../../usage/day.ts'
import type { SqliteDatabase } from '../database.ts'
import type { UsageRow } from '../tables.ts'
import { addRollups } from './add-rollups.ts'
import { insertRows } from './insert-rows.ts'
import type { Statement } from './statement-cache.ts'

const addCost = `insert into spending (key_id, day_ms, cost_nano_usd) values (?, ?, ?)
  on conflict (key_id, day_ms) do update set cost_nano_usd = spending.cost_nano_usd + excluded.cost_nano_usd`

/**
 * Writes rows in one transaction, and adds what they used to the sums of their hours and days and to the spending of their keys. A row that is
 * there already is left as it is and counts once.
 *
 * @returns how many rows were not there
 */
export function insertUsage (database: Pick<SqliteDatabase, 'write'>, rows: readonly UsageRow[]): number {
  return database.write(prepare => {
    const inserted = insertRows(prepare, rows)
    addSpending(prepare, inserted)
    addRollups(prepare, inserted)
    return inserted.length
  })
}

function addSpending (prepare: (sql: string) => Statement, rows: readonly UsageRow[]): void {
  const costs = new Map<string, Map<number, number>>()
  for (const { key_id: keyId, at_ms: atMs, cost_nano_usd: cost } of rows) {
    if (cost === null || cost === 0) continue
    let days = costs.get(keyId)
    if (days === undefined) costs.set(keyId, days = new Map())
    const day = dayOf(atMs)
    days.set(day, (days.get(day) ?? 0) + cost)
  }
  const add = prepare(addCost)
  for (const [keyId, days] of costs) for (const [day, cost] of days) add.run(keyId, day, cost)
}
