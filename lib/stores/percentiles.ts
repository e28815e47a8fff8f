/**
 * Percentiles of durations that are counted in buckets, each at most a tenth as wide as its durations.
 *
 * Bucket numbers are stored, so they must never change. Counts are also combined as text: `24:3,25:1` and
 * `24:2` give `24:3,25:1,24:2`. Negative counts subtract: `24:-1`.
 */

import type { Percentiles } from '../../schemas/admin/usage.ts'

/** Buckets of equal width. */
interface Range {
  readonly fromMs: number
  readonly untilMs: number
  readonly widthMs: number
  /** The number of the first bucket. */
  readonly first: number
}

/**
 * 35 buckets per power of ten. Up to 10 ms each millisecond has a bucket; the width of the last range
 * continues for longer durations.
 */
const ranges: readonly Range[] = [10, 100, 1000, 10_000, 100_000, 1_000_000].flatMap((power, index) => [
  { fromMs: power, untilMs: 2 * power, widthMs: power / 10, first: 35 * index + 10 },
  { fromMs: 2 * power, untilMs: 5 * power, widthMs: power / 5, first: 35 * index + 20 },
  { fromMs: 5 * power, untilMs: 10 * power, widthMs: power / 2, first: 35 * index + 35 }
])

const isLast = (range: Range): boolean => range === ranges.at(-1)

/** Returns the SQL for the bucket of a duration. */
export function bucketSql (column: string): string {
  const cases = ranges.map(range => {
    const { fromMs, untilMs, widthMs, first } = range
    return `${isLast(range) ? 'else' : `when ${column} < ${untilMs} then`} ${first} + (${column} - ${fromMs}) / ${widthMs}`
  })
  return `case ${cases.join(' ')} end`
}

/** Returns the bucket of a duration. */
export function bucketOf (ms: number): number {
  const range = ranges.find(range => ms < range.untilMs || isLast(range))
  return range === undefined ? 0 : range.first + Math.floor((ms - range.fromMs) / range.widthMs)
}

/** Returns the middle of a bucket. */
function middleOf (bucket: number): number {
  const range = ranges.findLast(({ first }) => bucket >= first) ?? ranges[0]
  return range === undefined
    ? 0
    : range.fromMs + (bucket - range.first) * range.widthMs + Math.floor(range.widthMs / 2)
}

/** Returns the PostgreSQL expression that combines joined counts. */
export function sumCountsPostgres (counts: string): string {
  return `added_durations(${counts})`
}

/** Returns the SQLite expression that combines joined counts. */
export function sumCountsSqlite (counts: string): string {
  return `(
    select string_agg(bucket || ':' || number, ',') from (
      select substr(value, 1, instr(value, ':') - 1) as bucket,
        sum(cast(substr(value, instr(value, ':') + 1) as integer)) as number
      from json_each('["' || replace(${counts}, ',', '","') || '"]') group by 1
    ) as added where number <> 0
  )`
}

/** Returns the SQL that negates printed counts, including negative ones. */
export function negatedCountsSql (counts: string): string {
  return `replace(replace(${counts}, ':', ':-'), ':--', ':')`
}

/** Counts of buckets. */
export class Durations {
  /** By bucket; sparse. */
  readonly #counts: number[] = []
  #total = 0

  /** @param text printed counts */
  constructor (text: string | null = null) {
    if (text !== null) this.addText(text)
  }

  add (bucket: number, count: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
    this.#total += count
  }

  addAll (other: Durations): void {
    other.#counts.forEach((count, bucket) => this.add(bucket, count))
  }

  /** Adds printed counts; a report reads megabytes of them. */
  addText (text: string): void {
    let bucket = 0
    let number = 0
    let sign = 1
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === colon) {
        bucket = number
        number = 0
      } else if (code === comma) {
        this.add(bucket, sign * number)
        number = 0
        sign = 1
      } else if (code === minus) {
        sign = -1
      } else {
        number = number * 10 + code - zero
      }
    }
    if (text !== '') this.add(bucket, sign * number)
  }

  /** Prints the counts; `null` if there are none. */
  text (): string | null {
    if (this.#total === 0) return null
    return this.#counts.flatMap((count, bucket) => (count === 0 ? [] : `${bucket}:${count}`)).join(',')
  }

  /** @returns `null` without counts */
  percentiles (): Percentiles | null {
    if (this.#total === 0) return null
    const at = (share: number): number => {
      let left = share * this.#total
      return middleOf(this.#counts.findIndex(count => count > 0 && (left -= count) <= 0))
    }
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
  }
}

const [zero, colon, comma, minus] = [0x30, 0x3a, 0x2c, 0x2d]
