/** Sums time buckets into totals and series, and keeps only what a series shows. */

import type { Percentiles, UsageSeries, UsageTotals } from '../../schemas/admin/usage.ts'
import { recordedUnits, type UnitSum } from '../../schemas/billed-units.ts'
import { rollupSums, type RollupSum } from '../stores/usage-rollups.ts'
import { Durations } from '../stores/percentiles.ts'

type Sums = Readonly<Record<RollupSum, number>>

/** The sums of some calls in one time bucket. */
export interface Cell {
  readonly sums: Sums
  readonly latencies: Durations
  readonly firstBytes: Durations
}

/** The values that a series shows for a cell: percentiles instead of the two hundred counts behind them. */
interface Point {
  readonly sums: Sums
  readonly latency: Percentiles | null
  readonly firstByte: Percentiles | null
}

export class UsageSummary {
  readonly #total = new CellSum()
  readonly #points = new Map<number, Point>()

  /** Adds the cell of a bucket. Call it once per bucket. */
  add (atMs: number, cell: Cell): void {
    this.#total.add(cell)
    this.#points.set(atMs, {
      sums: cell.sums,
      latency: cell.latencies.percentiles(),
      firstByte: cell.firstBytes.percentiles()
    })
  }

  totals (): UsageTotals {
    const { sums, latencies, firstBytes } = this.#total
    const { calls, errors, cancelled, cost_nano_usd: nanoUsd, estimated_calls, unpriced_calls } = sums
    return {
      calls,
      errors,
      cancelled,
      // keys of the list
      ...(Object.fromEntries(
        recordedUnits.map(({ column, sum, perUnit }) => [sum, sums[column] / perUnit])
      ) as Record<UnitSum, number>),
      cost_usd: nanoUsd / 1e9,
      estimated_calls,
      unpriced_calls,
      latency_ms: latencies.percentiles(),
      first_byte_ms: firstBytes.percentiles()
    }
  }

  /** @param times start times of the buckets to show */
  series (times: readonly number[]): UsageSeries {
    const points = times.map(at => this.#points.get(at))
    const of = (name: RollupSum, share = 1): number[] =>
      points.map(point => (point?.sums[name] ?? 0) / share)
    const percentile = (duration: 'latency' | 'firstByte', name: keyof Percentiles): Array<number | null> =>
      points.map(point => point?.[duration]?.[name] ?? null)
    return {
      calls: of('calls'),
      errors: of('errors'),
      prompt_tokens: of('prompt_tokens'),
      completion_tokens: of('completion_tokens'),
      cost_usd: of('cost_nano_usd', 1e9),
      estimated_calls: of('estimated_calls'),
      unpriced_calls: of('unpriced_calls'),
      latency_p50_ms: percentile('latency', 'p50'),
      latency_p95_ms: percentile('latency', 'p95'),
      latency_p99_ms: percentile('latency', 'p99'),
      first_byte_p50_ms: percentile('firstByte', 'p50'),
      first_byte_p95_ms: percentile('firstByte', 'p95')
    }
  }
}

/** A cell that accumulates others. */
export class CellSum implements Cell {
  // has every name
  readonly sums = Object.fromEntries(rollupSums.map(name => [name, 0])) as Record<RollupSum, number>
  readonly latencies = new Durations()
  readonly firstBytes = new Durations()

  add ({ sums, latencies, firstBytes }: Cell): void {
    for (const name of rollupSums) this.sums[name] += sums[name]
    this.latencies.addAll(latencies)
    this.firstBytes.addAll(firstBytes)
  }
}
