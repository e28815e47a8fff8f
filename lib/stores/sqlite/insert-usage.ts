import { dayOf } from '../../usage/day.ts'
import { usageColumns, type UsageColumn } from '../usage-columns.ts'
import { usualColumns, usualValues } from '../usual-values.ts'
import type { SqliteDatabase } from '../database.ts'
import type { UsageRow } from '../tables.ts'
import { addRollups } from './add-rollups.ts'

const insertInto = (names: readonly UsageColumn[]): string =>
  `insert into usage (${names.join(', ')}) values (${names.map(() => '?').join(', ')}) on conflict (at_ms, id) do nothing`

const insertRow = insertInto(usageColumns)
/** To bind 21 values takes 1 µs less than to bind 32. */
const insertUsualRow = insertInto(usualColumns)

const addSpending = `insert into spending (key_id, day_ms, cost_nano_usd) values (?, ?, ?)
  on conflict (key_id, day_ms) do update set cost_nano_usd = spending.cost_nano_usd + excluded.cost_nano_usd`

/**
 * Writes rows in one transaction, and adds what they used to the sums of their hours and days and to the spending of their keys. A row that is
 * there already is left as it is and counts once.
 *
 * One prepared statement for one row: 200 rows take a third of the time of four statements of 50 rows
 * each that Kysely builds and compiles.
 *
 * @returns how many rows were not there
 */
export function insertUsage (database: Pick<SqliteDatabase, 'write'>, rows: readonly UsageRow[]): number {
  return database.write(prepare => {
    const [insert, insertUsual] = [prepare(insertRow), prepare(insertUsualRow)]
    const inserted: UsageRow[] = []
    const costs = new Map<string, Map<number, number>>()
    for (const row of rows) {
      const usual = usualValues(row)
      const { changes } = usual === undefined ? insert.run(...valuesOf(row)) : insertUsual.run(...usual)
      const { key_id: keyId, at_ms: atMs, cost_nano_usd: cost } = row
      if (changes > 0) inserted.push(row)
      if (changes === 0 || cost === null || cost === 0) continue
      let days = costs.get(keyId)
      if (days === undefined) costs.set(keyId, days = new Map())
      const day = dayOf(atMs)
      days.set(day, (days.get(day) ?? 0) + cost)
    }
    const add = prepare(addSpending)
    for (const [keyId, days] of costs) for (const [day, cost] of days) add.run(keyId, day, cost)
    addRollups(prepare, inserted)
    return inserted.length
  })
}

/** Lists the values of all columns. A row of an earlier version lacks later ones. */
function valuesOf (row: UsageRow): Array<string | number | null> {
  return usageColumns.map(name => row[name] ?? null)
}
