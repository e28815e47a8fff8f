/** Adds rows to sums, and to the rollups by hour and day. */

import { bucketOf, Durations } from '../percentiles.ts'
import {
  amounts,
  dimensionsOf,
  hourMs,
  importEndpoint,
  isSummed,
  rollupDurations,
  rollupKey,
  rollupSpans,
  rollupSums
} from '../usage-rollups.ts'
import type { UsageRow } from '../tables.ts'
import type { Statement } from './statement-cache.ts'

const rowAmounts = rollupSums.map(name => amounts[name].of)

/** The sums of some rows. */
export class RowSums {
  readonly sums = rowAmounts.map(() => 0)
  readonly latencies = new Durations()
  readonly first_bytes = new Durations()

  /** @param sign -1 subtracts the row */
  add (row: UsageRow, sign: 1 | -1): void {
    for (let index = 0; index < rowAmounts.length; index++) {
      this.sums[index] = (this.sums[index] ?? 0) + sign * (rowAmounts[index]?.(row) ?? 0)
    }
    if (row.outcome !== 'ok' || row.endpoint === importEndpoint) return
    this.latencies.add(bucketOf(row.duration_ms), sign)
    if (row.first_byte_ms !== null) this.first_bytes.add(bucketOf(row.first_byte_ms), sign)
  }
}

/** A table of sums with a primary key. */
export class SumTable {
  readonly #find: string
  readonly #write: string
  readonly #removeEmpty: string

  /** @param key the columns of the primary key */
  constructor (table: string, key: readonly string[]) {
    const names = [...key, ...rollupSums, ...Object.keys(rollupDurations)]
    const hasKey = key.map(name => `${name} = ?`).join(' and ')
    this.#find = `select latencies, first_bytes from ${table} where ${hasKey}`
    this.#write = `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})
      on conflict (${key.join(', ')}) do update set
      latencies = excluded.latencies, first_bytes = excluded.first_bytes,
      ${rollupSums.map(name => `${name} = ${table}.${name} + excluded.${name}`).join(', ')}`
    this.#removeEmpty = `delete from ${table} where ${hasKey} and calls <= 0`
  }

  /** Adds sums to the row with a key, in a transaction, and deletes the row if it then has no calls. */
  add (prepare: (sql: string) => Statement, key: ReadonlyArray<string | number>, added: RowSums): void {
    const before = prepare(this.#find).get(...key)
    const counts = (['latencies', 'first_bytes'] as const).map(name => {
      const text = before?.[name]
      const all = new Durations(typeof text === 'string' ? text : null)
      all.addAll(added[name])
      return all.text()
    })
    prepare(this.#write).run(...key, ...added.sums, ...counts)
    if ((added.sums[0] ?? 0) < 0) prepare(this.#removeEmpty).run(...key)
  }
}

const table = new SumTable('usage_rollups', rollupKey)

/** The sums of rows with the same keys. */
interface Group {
  readonly atMs: number
  readonly dimensions: readonly string[]
  readonly sums: RowSums
}

/**
 * Adds rows that were just inserted, in the same transaction. Most rows of a batch have the same hour and few
 * keys and models, so they are summed in memory and each hour and day is written once.
 *
 * @param sign -1 subtracts removed rows
 */
export function addRollups (
  prepare: (sql: string) => Statement,
  rows: readonly UsageRow[],
  sign: 1 | -1 = 1
): void {
  const groups = new Map<string, Group>()
  let previous: UsageRow | undefined
  let group: Group | undefined
  for (const row of rows) {
    if (!isSummed.of(row)) continue
    // Most rows belong to the group of the row before.
    if (group === undefined || previous === undefined || !belongTogether(row, previous)) {
      const dimensions = dimensionsOf(row)
      const name = `${hourOf(row)}\0${dimensions.join('\0')}`
      group = groups.get(name) ?? { atMs: row.at_ms, dimensions, sums: new RowSums() }
      groups.set(name, group)
    }
    previous = row
    group.sums.add(row, sign)
  }
  for (const { atMs, dimensions, sums } of groups.values()) {
    for (const spanMs of rollupSpans) table.add(prepare, [spanMs, atMs - atMs % spanMs, ...dimensions], sums)
  }
}

function belongTogether (a: UsageRow, b: UsageRow): boolean {
  return (
    a.key_id === b.key_id &&
    a.model === b.model &&
    a.provider === b.provider &&
    a.endpoint === b.endpoint &&
    hourOf(a) === hourOf(b)
  )
}

function hourOf ({ at_ms: atMs }: UsageRow): number {
  return Math.floor(atMs / hourMs)
}
