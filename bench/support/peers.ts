/** Compares Headgate with other gateways: it should be ahead in each row. */

import { slowStreams } from './lanes.ts'
import { table } from './report.ts'
import { median } from './statistics.ts'
import type { Sample } from './measure-lane.ts'
import type { Results } from './targets.ts'

interface Row {
  readonly what: string
  /** Less is better. */
  readonly of: (results: Results, name: string) => number
}

const fewest = slowStreams[0]?.name ?? ''

const rows: readonly Row[] = [
  { what: 'JSON 1 KB, 32 callers, CPU µs a call', of: cost('JSON, 1 KB body, 32 callers') },
  { what: '8 per write, CPU µs an event', of: cost('200 events, 8 per write, 8 callers') },
  { what: 'paced, CPU µs an event', of: cost('200 events, one per write, paced 5 ms, 16 callers') },
  { what: 'first byte added, ms, p50', of: added(({ firstByte }) => firstByte.p50) },
  { what: 'first byte added, ms, p99', of: added(({ firstByte }) => firstByte.p99) },
  {
    what: `${fewest}, KB each`,
    of: ({ openLanes, callers }, name) =>
      (openLanes.get(fewest)?.get(name)?.grownBytes ?? NaN) / (callers.get(fewest) ?? NaN) / 1024
  },
  { what: 'RSS idle, MB', of: ({ idleBytes }, name) => (idleBytes.get(name) ?? NaN) / 2 ** 20 },
  { what: 'start to first chat answer, ms', of: ({ startMs }, name) => startMs.get(name) ?? NaN }
]

/** Prints the results of Headgate and its peers. */
export function peerTable (results: Results, peers: readonly string[]): string {
  const measured = rows.flatMap(({ what, of }) => {
    const [own = NaN, ...others] = ['Headgate', ...peers].map(name => of(results, name))
    const known = others.filter(value => !Number.isNaN(value))
    if (Number.isNaN(own) || known.length === 0) return []
    return [
      [
        what,
        ...[own, ...others].map(value => value.toFixed(value < 20 ? 2 : 0)),
        known.every(value => own < value) ? 'yes' : 'no'
      ]
    ]
  })
  return measured.length === 0 ? '' : table('Peers', ['', 'Headgate', ...peers, 'ahead of each'], measured)
}

function cost (lane: string): Row['of'] {
  return ({ rounds }, name) =>
    median((rounds.get(lane) ?? []).map(round => round.get(name)?.cpuUsPerUnit ?? NaN))
}

/** Milliseconds in addition to a direct call of the mock. */
function added (value: (sample: Sample) => number): Row['of'] {
  return ({ rounds }, name) => median((rounds.get('first token, 16 callers') ?? []).map(round => {
    const [own, direct] = [round.get(name), round.get('direct')]
    return own === undefined || direct === undefined ? NaN : value(own) - value(direct)
  }))
}
