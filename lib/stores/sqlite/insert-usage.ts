import { dayOf } from '../../core/day.ts'
import { namesOf } from '../name-rollups.ts'
import { isReplaced } from '../replaced-row.ts'
import { usageColumns } from '../usage-columns.ts'
import { isNamed, rollupSpans } from '../usage-rollups.ts'
import { addNames } from './add-names.ts'
import { addPartySpending } from './add-party-spending.ts'
import { addRollups } from './add-rollups.ts'
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
 * Writes rows in one transaction, and adds what they used to the sums of their hours, days and names and to
 * the spending of their keys and parties. A row that is there already is left as it is and counts once; that
 * of an open call is replaced by a later one.
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
  if (inserted.some(isNamed)) addNames(prepare, inserted)
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
  addRollups(prepare, removed, -1)
  addNames(prepare, removed, -1)
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

/** Sums that are written in one turn of the event loop: each takes some 17 µs. */
const sumsOfTurn = 100

/**
 * Writes rows as `insertUsage` does, in one transaction and one turn of the event loop those that add to so
 * many sums. @returns how many rows were written
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
  let inserted = 0
  let turn: UsageRow[] = []
  let sums = 0
  for (const ofKey of byKey.values()) {
    sums += rollupSpans.length
    for (const row of ofKey) {
      if (sums >= sumsOfTurn) {
        inserted += insertUsage(database, turn)
        await nextTurn()
        turn = []
        sums = rollupSpans.length
      }
      turn.push(row)
      if (isNamed(row)) sums += Object.values(namesOf(row)).flat().length
    }
  }
  return inserted + insertUsage(database, turn)
}
