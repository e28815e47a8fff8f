import { dayMs } from '../../core/day.ts'
import type { Retention } from '../database.ts'
import type { Partitions } from './partitions.ts'

/**
 * Drops months that exceed the age or the number of rows, which takes no longer for a billion rows than for
 * one. A month is dropped once none of its rows should be kept, so some rows stay up to a month longer.
 */
export async function pruneUsage (
  partitions: Partitions,
  { keepDays, keepRows }: Retention,
  nowMs: number
): Promise<void> {
  let newer = 0
  for (const { name, endMs, rows } of await partitions.list()) {
    if (endMs <= nowMs - keepDays * dayMs || newer >= keepRows) await partitions.drop(name)
    newer += rows
  }
}
