/** Adds rows to the sums of their hours and days. */

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

const names = [...rollupKey, ...rollupSums, ...Object.keys(rollupDurations)]
const hasKey = rollupKey.map(name => `${name} = ?`).join(' and ')
const find = `select latencies, first_bytes from usage_rollups where ${hasKey}`
const write = `insert into usage_rollups (${names.join(', ')}) values (${names.map(() => '?').join(', ')})
  on conflict (${rollupKey.join(', ')}) do update set latencies = excluded.latencies, first_bytes = excluded.first_bytes,
  ${rollupSums.map(name => `${name} = usage_rollups.${name} + excluded.${name}`).join(', ')}`
const reduce = `update usage_rollups set ${rollupSums.map(name => `${name} = ${name} - ?`).join(', ')} where ${hasKey}`
const removeEmpty = `delete from usage_rollups where ${hasKey} and calls <= 0`

const amountOf = rollupSums.map(name => amounts[name].of)

/** The sums of some rows that belong together. */
interface Group {
  readonly atMs: number
  readonly dimensions: readonly string[]
  readonly sums: number[]
  readonly latencies: Durations
  readonly firstBytes: Durations
}

/**
 * Adds rows that were inserted just now, in the same transaction. Nearly all of a batch are of one hour and
 * of few keys and models: they are added up here, so that each hour and day is written once.
 */
export function addRollups (prepare: (sql: string) => Statement, rows: readonly UsageRow[]): void {
  const groups = new Map<string, Group>()
  let previous: UsageRow | undefined
  let group: Group | undefined
  for (const row of rows) {
    if (!isSummed.of(row)) continue
    // Most rows are like the one before; the name of a group takes 0.5 µs.
    if (group === undefined || previous === undefined || !belongTogether(row, previous)) {
      group = groupOf(row, groups)
    }
    previous = row
    add(group, row)
  }
  for (const each of groups.values()) for (const spanMs of rollupSpans) writeGroup(prepare, each, spanMs)
}

/**
 * Subtracts rows of open calls that were removed just now, whose durations are not counted. Sums of no other
 * call go as well.
 */
export function subtractRollups (prepare: (sql: string) => Statement, rows: readonly UsageRow[]): void {
  for (const row of rows.filter(isSummed.of)) {
    for (const spanMs of rollupSpans) {
      const key = keyOf(spanMs, row.at_ms, dimensionsOf(row))
      prepare(reduce).run(...amountOf.map(of => of(row)), ...key)
      prepare(removeEmpty).run(...key)
    }
  }
}

function keyOf (spanMs: number, atMs: number, dimensions: readonly string[]): Array<string | number> {
  return [spanMs, atMs - atMs % spanMs, ...dimensions]
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

function groupOf (row: UsageRow, groups: Map<string, Group>): Group {
  const dimensions = dimensionsOf(row)
  const name = `${hourOf(row)}\0${dimensions.join('\0')}`
  const known = groups.get(name)
  if (known !== undefined) return known
  const group: Group = {
    atMs: row.at_ms,
    dimensions,
    sums: amountOf.map(() => 0),
    latencies: new Durations(),
    firstBytes: new Durations()
  }
  groups.set(name, group)
  return group
}

function hourOf ({ at_ms: atMs }: UsageRow): number {
  return Math.floor(atMs / hourMs)
}

function add ({ sums, latencies, firstBytes }: Group, row: UsageRow): void {
  for (let index = 0; index < amountOf.length; index++) {
    sums[index] = (sums[index] ?? 0) + (amountOf[index]?.(row) ?? 0)
  }
  if (row.outcome !== 'ok' || row.endpoint === importEndpoint) return
  latencies.add(bucketOf(row.duration_ms), 1)
  if (row.first_byte_ms !== null) firstBytes.add(bucketOf(row.first_byte_ms), 1)
}

function writeGroup (
  prepare: (sql: string) => Statement,
  { atMs, dimensions, sums, latencies, firstBytes }: Group,
  spanMs: number
): void {
  const key = keyOf(spanMs, atMs, dimensions)
  const before = prepare(find).get(...key)
  const counts = ([['latencies', latencies], ['first_bytes', firstBytes]] as const).map(([name, added]) => {
    const text = before?.[name]
    const all = new Durations(typeof text === 'string' ? text : null)
    all.addAll(added)
    return all.text()
  })
  prepare(write).run(...key, ...sums, ...counts)
}
