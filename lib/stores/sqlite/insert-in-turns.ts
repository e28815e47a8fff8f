import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqliteDatabase } from '../database.ts'
import type { UsageRow } from '../tables.ts'
import { insertUsage } from './insert-usage.ts'

/** Keys whose rows are written in one turn of the event loop: each adds to sums of its own, which takes 35 µs. */
const keysOfTurn = 50

/** Writes rows as `insertUsage` does, in one transaction and one turn of the event loop those of so many keys. @returns how many rows were written */
export async function insertInTurns (database: Pick<SqliteDatabase, 'write'>, rows: readonly UsageRow[]): Promise<number> {
  let inserted = 0
  for (const [index, turn] of turnsOf(rows).entries()) {
    if (index > 0) await nextTurn()
    inserted += insertUsage(database, turn)
  }
  return inserted
}

function turnsOf (rows: readonly UsageRow[]): Array<readonly UsageRow[]> {
  const byKey = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const others = byKey.get(row.key_id)
    if (others === undefined) byKey.set(row.key_id, [row])
    else others.push(row)
  }
  if (byKey.size <= keysOfTurn) return [rows]
  const keys = [...byKey.values()]
  return Array.from({ length: Math.ceil(keys.length / keysOfTurn) }, (_, turn) => keys.slice(turn * keysOfTurn, (turn + 1) * keysOfTurn).flat())
}
