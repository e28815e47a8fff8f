/** Stores usage rows in SQLite and adds them to the sums by hour, day and name and to spending. */

import { setImmediate as immediate } from 'node:timers/promises'
import { dayOf } from '../../core/day.ts'
import { namesOf } from '../name-rollups.ts'
import { partySpans } from '../party-spending.ts'
import { isReplaced } from '../replaced-row.ts'
import { usageColumns } from '../usage-columns.ts'
import { isNamed, rollupSpans } from '../usage-rollups.ts'
import { addNames } from './add-names.ts'
import { addRollups } from './add-rollups.ts'
import type { Statement } from './statement-cache.ts'
import type { SqliteDatabase } from '../database.ts'
import type { UsageRow } from '../tables.ts'

const addCost = `insert into spending (key_id, day_ms, cost_nano_usd) values (?, ?, ?)
  on conflict (key_id, day_ms) do update set cost_nano_usd = spending.cost_nano_usd + excluded.cost_nano_usd`

const addPartyCost = `insert into party_spending (span_ms, party, from_ms, cost_nano_usd) values (?, ?, ?, ?)
  on conflict (span_ms, party, from_ms) do update set cost_nano_usd = party_spending.cost_nano_usd + excluded.cost_nano_usd`

const findReplaced = `select ${usageColumns.join(', ')} from usage where at_ms = ? and id = ? and ${isReplaced('?', '?')}`
const removeRow = 'delete from usage where at_ms = ? and id = ?'

type Prepare = (sql: string) => Statement

/**
 * Writes rows in one transaction and adds them to the sums by hour, day and name and to the spending of their
 * keys and parties. Existing rows are kept and count once; the row of an open call is replaced by a later
 * one.
 *
 * @returns the number of written rows
 */
export function insertUsage (database: Pick<SqliteDatabase, 'write'>, rows: readonly UsageRow[]): number {
  return database.write(prepare => insertUsageWithin(prepare, rows))
}

/** Writes rows like `insertUsage`, within a transaction. @returns the number of written rows */
export function insertUsageWithin (prepare: Prepare, rows: readonly UsageRow[]): number {
  const { inserted, present } = insertRows(prepare, rows)
  if (present.length > 0) inserted.push(...replaceRows(prepare, present))
  addSpending(prepare, inserted)
  addRollups(prepare, inserted)
  if (inserted.some(isNamed)) addNames(prepare, inserted)
  return inserted.length
}

/**
 * Replaces earlier rows of the same calls and subtracts their amounts. @returns the written rows, whose
 * amounts are not added yet
 */
function replaceRows (prepare: Prepare, rows: readonly UsageRow[]): UsageRow[] {
  const removed: UsageRow[] = []
  const later: UsageRow[] = []
  for (const row of rows) {
    // the table's columns
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

/** Adds costs to the spending of keys and parties. @param times -1 subtracts the rows */
function addSpending (prepare: Prepare, rows: readonly UsageRow[], times = 1): void {
  const costs = new Map<string, Map<number, number>>()
  for (const row of rows) {
    const { key_id: keyId, at_ms: atMs, cost_nano_usd: cost, parties } = row
    if (cost === null || cost === 0) continue
    // written by this gateway
    for (const party of parties === null ? [] : JSON.parse(parties) as readonly string[]) {
      for (const spanMs of partySpans) {
        prepare(addPartyCost).run(spanMs, party, atMs - atMs % spanMs, times * cost)
      }
    }
    let days = costs.get(keyId)
    if (days === undefined) costs.set(keyId, days = new Map())
    const day = dayOf(atMs)
    days.set(day, (days.get(day) ?? 0) + times * cost)
  }
  const add = prepare(addCost)
  for (const [keyId, days] of costs) for (const [day, cost] of days) add.run(keyId, day, cost)
}

/** Sums written per tick; each takes about 17 µs. */
const sumsPerTick = 100

/**
 * Writes rows like `insertUsage`, in one transaction for each tick, with at most `sumsPerTick` sums.
 *
 * @returns the number of written rows
 */
export async function insertInSlices (
  database: Pick<SqliteDatabase, 'write'>,
  rows: readonly UsageRow[]
): Promise<number> {
  const byKey = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const others = byKey.get(row.key_id)
    if (others === undefined) byKey.set(row.key_id, [row])
    else others.push(row)
  }
  let slice: UsageRow[] = []
  const slices = [slice]
  let sums = 0
  for (const ofKey of byKey.values()) {
    sums += rollupSpans.length
    for (const row of ofKey) {
      if (sums >= sumsPerTick) {
        slices.push(slice = [])
        sums = rollupSpans.length
      }
      slice.push(row)
      if (isNamed(row)) sums += Object.values(namesOf(row)).flat().length
    }
  }
  let inserted = 0
  for (const some of slices) {
    if (some !== slices[0]) await immediate()
    inserted += insertUsage(database, some)
  }
  return inserted
}

const insertRow = `insert into usage (${usageColumns.join(', ')})
  values (${usageColumns.map(() => '?').join(', ')}) on conflict (at_ms, id) do nothing`

interface Inserted {
  readonly inserted: UsageRow[]
  /** Rows whose id already exists; the existing rows are kept. */
  readonly present: UsageRow[]
}

/** Inserts rows within a transaction. */
function insertRows (prepare: Prepare, rows: readonly UsageRow[]): Inserted {
  const result: Inserted = { inserted: [], present: [] }
  const seen = new Set<string>()
  for (const row of rows) {
    // Journals are read backwards, so the first row of a call is the latest.
    if (seen.has(row.id)) continue
    seen.add(row.id)
    // A row of an earlier version lacks later columns.
    const { changes } = prepare(insertRow).run(...usageColumns.map(column => row[column] ?? null))
    const { inserted, present } = result
    if (changes > 0) inserted.push(row)
    else present.push(row)
  }
  return result
}
