/** Lists the targets, and reports which of them a run has reached. */

import { slowStreams } from './lanes.ts'
import { isLarge, media } from './media.ts'
import { table, type Round } from './report.ts'
import { median } from './statistics.ts'
import type { Sample } from './measure-lane.ts'

/** The results of the parts of a run that took place. */
export interface Results {
  /** By the name of the lane. */
  readonly rounds: Map<string, readonly Round[]>
  readonly openLanes: Map<string, Round>
  readonly callers: Map<string, number>
  /** By the name of the contender: medians of all starts, and memory two seconds after one. */
  readonly startMs: Map<string, number>
  readonly idleBytes: Map<string, number>
}

interface Target {
  readonly what: string
  readonly atMost: number
  readonly of: (results: Results) => number | undefined
}

const gateway = 'Headgate'
const chat = {
  json: 'JSON, 1 KB body, 32 callers',
  eights: '200 events, 8 per write, 8 callers'
}

/** Calls that are translated, or passed through in another dialect, against the chat lanes of OpenAI. */
const translated = [
  ...['anthropic', 'google'].map(provider => ['', provider] as const),
  ...['messages', 'responses'].flatMap(dialect =>
    ['openai', 'anthropic'].map(provider => [`${dialect}: `, provider] as const)
  )
]

const targets: readonly Target[] = [
  { what: 'JSON 1 KB, 32 callers, × bare pipe', atMost: 1.9, of: ratio(chat.json) },
  { what: 'JSON 1 KB, 1 caller, × bare pipe', atMost: 2.2, of: ratio('JSON, 1 KB body, 1 callers') },
  { what: 'JSON 1 KB, 256 callers, × bare pipe', atMost: 2.2, of: ratio('JSON, 1 KB body, 256 callers') },
  { what: 'JSON 33 KB, × bare pipe', atMost: 3.4, of: ratio('JSON, 33 KB body, 32 callers') },
  { what: 'event, 8 per write, × bare pipe', atMost: 2.6, of: ratio(chat.eights) },
  {
    what: 'event beyond ASCII, 8 per write, × bare pipe',
    atMost: 2.8,
    of: ratio('200 events beyond ASCII, 8 per write, 8 callers')
  },
  { what: 'event, all at once, × bare pipe', atMost: 1.3, of: ratio('200 events, all at once, 8 callers') },
  {
    what: 'event, paced, × bare pipe',
    atMost: 1.7,
    of: ratio('200 events, one per write, paced 5 ms, 16 callers')
  },
  ...translated.flatMap(([dialect, provider]): Target[] => [
    {
      what: `${dialect}JSON from ${provider}, × chat from OpenAI`,
      atMost: 1.5,
      of: against(`${dialect}JSON from ${provider}, 32 callers`, chat.json)
    },
    {
      what: `${dialect}event from ${provider}, × chat from OpenAI`,
      atMost: 1.5,
      of: against(`${dialect}200 events from ${provider}, 8 per write, 8 callers`, chat.eights)
    }
  ]),
  ...media.map((medium): Target => ({
    what: `${medium.name}, × bare pipe`,
    atMost: isLarge(medium) ? 2 : 4,
    of: ratio(medium.name)
  })),
  {
    what: 'call of 2 processes, × that of one',
    atMost: 1.4,
    of: ratioOf('JSON, 1 KB body, 64 callers', 'Headgate × 2', gateway)
  },
  ...slowStreams.flatMap(({ name, callers }): Target[] => [
    { what: `${name}, KB each`, atMost: 48, of: openLanes(name, kilobytesEach) },
    {
      what: `${name}, event p99, ms`,
      atMost: callers > 4_000 ? 60 : 15,
      of: openLanes(name, ({ event }) => event.p99)
    }
  ]),
  {
    what: '400 callers who never read, KB each',
    atMost: 300,
    of: openLanes('400 callers who never read', kilobytesEach)
  },
  { what: 'RSS idle, MB', atMost: 120, of: ({ idleBytes }) => (idleBytes.get(gateway) ?? NaN) / 2 ** 20 },
  { what: 'RSS after all lanes, MB', atMost: 220, of: rssAfterAll },
  {
    what: 'start to first chat answer, ms',
    atMost: process.version.startsWith('v20.') ? 750 : 500,
    of: ({ startMs }) => startMs.get(gateway)
  }
]

/** Prints the targets that a run has results for. */
export function targetTable (results: Results): string {
  const rows = targets.flatMap(({ what, atMost, of }) => {
    const value = of(results)
    return value === undefined || Number.isNaN(value)
      ? []
      : [[what, `≤ ${digits(atMost)}`, digits(value), value <= atMost ? 'yes' : 'no']]
  })
  return rows.length === 0 ? '' : table('Targets', ['', 'target', 'measured', 'reached'], rows)
}

function digits (value: number): string {
  return value.toFixed(value < 0.2 ? 3 : value < 20 ? 2 : 0)
}

function ratio (lane: string, to = 'bare pipe'): Target['of'] {
  return ratioOf(lane, gateway, to)
}

function ratioOf (lane: string, of: string, to: string): Target['of'] {
  return ({ rounds }) => perRound(rounds.get(lane), round => cost(round, of) / cost(round, to))
}

function against (lane: string, other: string): Target['of'] {
  return ({ rounds }) => {
    const [own, theirs] = [lane, other].map(name => perRound(rounds.get(name), round => cost(round, gateway)))
    return own === undefined || theirs === undefined ? undefined : own / theirs
  }
}

function openLanes (lane: string, value: (sample: Sample, callers: number) => number): Target['of'] {
  return ({ openLanes, callers }) => {
    const sample = openLanes.get(lane)?.get(gateway)
    return sample === undefined ? undefined : value(sample, callers.get(lane) ?? NaN)
  }
}

function kilobytesEach ({ grownBytes }: Sample, callers: number): number {
  return grownBytes / callers / 1024
}

/** Returns the highest memory in the last round of any lane. */
function rssAfterAll ({ rounds }: Results): number | undefined {
  const sizes = [...rounds.values()].flatMap(all => all.at(-1)?.get(gateway)?.rssBytes ?? [])
  return sizes.length === 0 ? undefined : Math.max(...sizes) / 2 ** 20
}

function perRound (
  rounds: readonly Round[] | undefined,
  value: (round: Round) => number
): number | undefined {
  return rounds === undefined ? undefined : median(rounds.map(value))
}

function cost (round: Round, name: string): number {
  return round.get(name)?.cpuUsPerUnit ?? NaN
}
