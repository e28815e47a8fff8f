/** Percentiles of durations that are counted in buckets of two significant digits: within 10 %, and buckets add up. */

import { sql, type RawBuilder } from 'kysely'
import type { Percentiles } from '../../schemas/admin/usage.ts'

/** Returns the SQL of a bucket's lower bound, in milliseconds. */
export function bucketOf (column: string): RawBuilder<number> {
  const ms = sql.ref(column)
  return sql<number>`case when ${ms} < 100 then ${ms} when ${ms} < 1000 then ${ms} - ${ms} % 10 when ${ms} < 10000 then ${ms} - ${ms} % 100
    when ${ms} < 100000 then ${ms} - ${ms} % 1000 when ${ms} < 1000000 then ${ms} - ${ms} % 10000 else ${ms} - ${ms} % 100000 end`
}

/** Counts of buckets, by their lower bounds. */
export class Durations {
  readonly #counts = new Map<number, number>()
  #total = 0

  add (bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count)
    this.#total += count
  }

  addAll (other: Durations): void {
    for (const [bucket, count] of other.#counts) this.add(bucket, count)
  }

  /** @returns `null` where nothing was measured */
  percentiles (): Percentiles | null {
    if (this.#total === 0) return null
    const buckets = [...this.#counts].toSorted(([a], [b]) => a - b)
    const at = (share: number): number => {
      let left = share * this.#total
      for (const [bucket, count] of buckets) if ((left -= count) <= 0) return middleOf(bucket)
      return middleOf(buckets.at(-1)?.[0] ?? 0)
    }
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
  }
}

/** Returns the middle of a bucket: its bounds are as far apart as one of its second digit. */
function middleOf (bucket: number): number {
  const digits = Math.max(0, Math.floor(Math.log10(Math.max(bucket, 1))) - 1)
  return digits === 0 ? bucket : bucket + 10 ** digits / 2
}
