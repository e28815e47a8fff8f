import { dayOf } from '../../core/day.ts'
import { isReplaced } from '../replaced-row.ts'
import { usageColumns } from '../usage-columns.ts'
import { addPartySpending } from './add-party-spending.ts'
import { addRollups, subtractRollups } from './add-rollups.ts'
import { insertRows } from './insert-rows.ts'
import type { Statement } from './statement-cache.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqliteDatabase } from '../database.ts'
import type { UsageRow } from '../tables.ts'

const addCost = `insert into spending (key_id, day_ms, cost_nano_usd) values (?, ?, ?)
  on conflict (key_id, day_ms) do update set cost_nano_usd = spending.cost_nano_usd + excluded.cost_nano_usd`

const findReplaced = `select ${usageColumns.join(', ')} from usage where at_ms = ? and id = ? and ${isReplaced('?', '?')}`
const removeRow = 'delete from usage where at_ms = ? and id = ?'

type Prepare = (sql: string) => Statement

/**
 * Writes rows in one transaction, and adds what they used to the sums of their hours and days and to the
 * spending of their keys and parties. A row that is there already is left as it is and counts once; that of an open call
 * is replaced by a later one.
 *
 * @returns how many rows were written
 */
export function insertUsage (database: Pick<SqliteDatabase, 'write'>, rows: readonly UsageRow[]): number {
  return database.write(prepare => insertUsageWithin(prepare, rows))
}

/** Writes rows as `insertUsage` does, within a transaction. */
export function insertUsageWithin (prepare: Prepare, rows: readonly UsageRow[]): number {
  const { inserted, present } = insertRows(prepare, rows)
  if (present.length > 0) inserted.push(...replaceRows(prepare, present))
  addSpending(prepare, inserted)
  addRollups(prepare, inserted)
  return inserted.length
}

/**
 * Writes rows in place of earlier ones of the same calls, whose amounts it subtracts. @returns those that are
 * written, not added yet
 */
function replaceRows (prepare: Prepare, rows: readonly UsageRow[]): UsageRow[] {
  const removed: UsageRow[] = []
  const later: UsageRow[] = []
  for (const row of rows) {
    // its columns
    const earlier = prepare(findReplaced).get(row.at_ms, row.id, row.outcome, row.duration_ms) as
      UsageRow | undefined
    if (earlier === undefined) continue
    prepare(removeRow).run(row.at_ms, row.id)
    removed.push(earlier)
    later.push(row)
  }
  if (removed.length === 0) return later
  addSpending(prepare, removed, -1)
  subtractRollups(prepare, removed)
  return insertRows(prepare, later).inserted
}

/** @param times -1 subtracts it */
function addSpending (prepare: Prepare, rows: readonly UsageRow[], times = 1): void {
  const costs = new Map<string, Map<number, number>>()
  for (const row of rows) {
    const { key_id: keyId, at_ms: atMs, cost_nano_usd: cost, parties } = row
    if (cost === null || cost === 0) continue
    if (parties !== null) addPartySpending(prepare, row, times * cost)
    let days = costs.get(keyId)
    if (days === undefined) costs.set(keyId, days = new Map())
    const day = dayOf(atMs)
    days.set(day, (days.get(day) ?? 0) + times * cost)
  }
  const add = prepare(addCost)
  for (const [keyId, days] of costs) for (const [day, cost] of days) add.run(keyId, day, cost)
}

/**
 * Keys whose rows are written in one turn of the event loop: each adds to sums of its own, which takes 35 µs.
 */
const keysOfTurn = 50

/**
 * Writes rows as `insertUsage` does, in one transaction and one turn of the event loop those of so many keys.
 * @returns how many rows were written
 */
export async function insertInTurns (
  database: Pick<SqliteDatabase, 'write'>,
  rows: readonly UsageRow[]
): Promise<number> {
  const byKey = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const others = byKey.get(row.key_id)
    if (others === undefined) byKey.set(row.key_id, [row])
    else others.push(row)
  }
  const keys = [...byKey.values()]
  let inserted = 0
  for (let from = 0; from < keys.length; from += keysOfTurn) {
    if (from > 0) await nextTurn()
    inserted += insertUsage(database, keys.slice(from, from + keysOfTurn).flat())
  }
  return inserted
}
