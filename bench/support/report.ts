/** Formats samples as Markdown tables. */

import { median } from './statistics.ts'
import type { Lane } from './lanes.ts'
import type { Sample } from './measure-lane.ts'

/** One sample of each contender, by name. */
export type Round = ReadonlyMap<string, Sample>

const megabyte = 1024 * 1024

export function laneTable (lane: Lane, rounds: readonly Round[]): string {
  const names = [...rounds[0]?.keys() ?? []].toSorted()
  const rows = names.map(name => {
    const over = (value: (sample: Sample) => number): number =>
      median(rounds.map(round => take(round, name, value)))
    /** Milliseconds in addition to a direct call of the mock, in the same round. */
    const added = (value: (sample: Sample) => number): string =>
      median(rounds.map(round => take(round, name, value) - take(round, 'direct', value))).toFixed(2)
    const ratio = median(
      rounds.map(
        round =>
          take(round, name, sample => sample.cpuUsPerUnit) /
          take(round, 'bare pipe', sample => sample.cpuUsPerUnit)
      )
    )
    return [
      name === 'direct' ? 'direct (CPU of the mock)' : name,
      over(sample => sample.cpuUsPerUnit).toFixed(1),
      name === 'direct' ? '' : ratio.toFixed(2),
      over(sample => sample.unitsPerSecond).toFixed(0),
      `${added(sample => sample.latency.p50)} / ${added(sample => sample.latency.p99)}`,
      `${added(sample => sample.firstByte.p50)} / ${added(sample => sample.firstByte.p99)}`,
      over(sample => sample.event.count) === 0
        ? ''
        : `${added(sample => sample.event.p50)} / ${added(sample => sample.event.p99)}`,
      (over(sample => sample.rssBytes) / megabyte).toFixed(0)
    ]
  })
  return table(lane.name, [
    '', `CPU µs per ${lane.unit}`, '× bare pipe', `${lane.unit}s/s`, 'answer, added ms p50 / p99',
    'first byte, added ms p50 / p99', 'event, added ms p50 / p99', 'RSS, MB'
  ], rows)
}

export function openTable (lane: Lane, samples: Round): string {
  const rows = [...samples].map(([name, sample]) => [
    name,
    (sample.grownBytes / lane.callers / 1024).toFixed(1),
    (sample.rssBytes / megabyte).toFixed(0),
    sample.event.count === 0 ? '' : `${sample.event.p50.toFixed(1)} / ${sample.event.p99.toFixed(1)}`,
    sample.event.count === 0 ? '' : sample.cpuUsPerUnit.toFixed(0)
  ])
  return table(lane.name, [
    '', 'KB more per caller', 'RSS, MB', 'event, ms from provider to caller p50 / p99', 'CPU µs per event'
  ], rows)
}

export function coldStartTable (
  readyMs: ReadonlyMap<string, readonly number[]>,
  idle: ReadonlyMap<string, number>
): string {
  const rows = [...readyMs].map(([name, all]) => [
    name, Math.min(...all).toFixed(0), median(all).toFixed(0), ((idle.get(name) ?? NaN) / megabyte).toFixed(0)
  ])
  return table('cold start', ['', 'ms to the first 200, best', 'median', 'RSS idle, MB'], rows)
}

export function warmTable (seconds: ReadonlyMap<string, readonly number[]>): string {
  const rows = [...seconds].map(([name, costs]) => [name, ...costs.map(cost => cost.toFixed(0))])
  const most = Math.max(...[...seconds.values()].map(({ length }) => length))
  return table(
    'warm: CPU µs per request in each second after the start',
    ['', ...Array.from({ length: most }, (_, at) => String(at + 1))],
    rows
  )
}

function take (round: Round, name: string, value: (sample: Sample) => number): number {
  const sample = round.get(name)
  return sample === undefined ? NaN : value(sample)
}

export function table (
  title: string,
  head: readonly string[],
  rows: ReadonlyArray<readonly string[]>
): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map(cell => cell.replaceAll('NaN', '–')).join(' | ')} |`
  return [
    `### ${title}`,
    '',
    line(head),
    line(head.map((_, index) => (index === 0 ? '---' : '---:'))),
    ...rows.map(line),
    ''
  ].join('\n')
}
