/**
 * Percentiles of durations that are counted in buckets, each at most a tenth of its durations wide.
 *
 * The store has the numbers of the buckets, so they must never change. Counts add up as text, too:
 * `24:3,25:1` and `24:2` are `24:3,25:1,24:2`. A count below zero subtracts: `24:-1`.
 */

import type { Percentiles } from '../../schemas/admin/usage.ts'

/** Buckets of one width. */
interface Range {
  readonly fromMs: number
  readonly untilMs: number
  readonly widthMs: number
  /** The number of the first one. */
  readonly first: number
}

/**
 * 35 buckets for each power of ten; what takes longer than the last range is in buckets of its width, up to
 * 10 ms each has its own.
 */
const ranges: readonly Range[] = [10, 100, 1000, 10_000, 100_000, 1_000_000].flatMap((power, index) => [
  { fromMs: power, untilMs: 2 * power, widthMs: power / 10, first: 35 * index + 10 },
  { fromMs: 2 * power, untilMs: 5 * power, widthMs: power / 5, first: 35 * index + 20 },
  { fromMs: 5 * power, untilMs: 10 * power, widthMs: power / 2, first: 35 * index + 35 }
])

const isLast = (range: Range): boolean => range === ranges.at(-1)

/** Returns the SQL of the number of a duration's bucket. */
export function bucketSql (column: string): string {
  const cases = ranges.map(range => {
    const { fromMs, untilMs, widthMs, first } = range
    return `${isLast(range) ? 'else' : `when ${column} < ${untilMs} then`} ${first} + (${column} - ${fromMs}) / ${widthMs}`
  })
  return `case ${cases.join(' ')} end`
}

/** Returns the number of a duration's bucket. */
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

/** Returns the SQL, for PostgreSQL, that adds counts up which were joined. */
export function addedDurationsSql (counts: string): string {
  return `added_durations(${counts})`
}

/** Returns the SQL, for SQLite, that adds counts up which were joined. */
export function addedCountsSql (counts: string): string {
  return `(
    select string_agg(bucket || ':' || number, ',') from (
      select substr(value, 1, instr(value, ':') - 1) as bucket,
        sum(cast(substr(value, instr(value, ':') + 1) as integer)) as number
      from json_each('["' || replace(${counts}, ',', '","') || '"]') group by 1
    ) as added where number <> 0
  )`
}

/** Returns the SQL that takes printed counts back, also those that are below zero already. */
export function takenBackSql (counts: string): string {
  return `replace(replace(${counts}, ':', ':-'), ':--', ':')`
}

/** Counts of buckets. */
export class Durations {
  /** By bucket, with holes. */
  readonly #counts: number[] = []
  #total = 0

  /** @param text counts that were printed */
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

  /** Adds counts that were printed; a report reads some megabytes of them. */
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

  /** Prints the counts; `null` where nothing was measured. */
  text (): string | null {
    if (this.#total === 0) return null
    return this.#counts.flatMap((count, bucket) => (count === 0 ? [] : `${bucket}:${count}`)).join(',')
  }

  /** @returns `null` where nothing was measured */
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
