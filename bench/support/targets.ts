/** Lists what is to be reached, and says what a run has reached. */

import { deafCallers, isOfMedia, lanes, slowStreams, type Lane } from './lanes.ts'
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
  /** By the name of the contender: medians of all starts, memory two seconds after one. */
  readonly startMs: Map<string, number>
  readonly idleBytes: Map<string, number>
  /** CPU µs of a call in each second after the start. */
  warm?: readonly number[] | undefined
}

interface Target {
  readonly what: string
  readonly atMost: number
  readonly of: (results: Results) => number | undefined
}

const gateway = 'Headgate'
const many = slowStreams.at(-1)?.name ?? ''
const openai = { json: 'JSON, 1 KB body, 32 callers', eights: '200 events, 8 per write, 8 callers' }
const chatLanes = { openai, anthropic: { json: 'JSON from anthropic, 32 callers', eights: '200 events from anthropic, 8 per write, 8 callers' } }

const targets: readonly Target[] = [
  { what: 'JSON 1 KB, 32 callers, × bare pipe', atMost: 1.2, of: ratio(openai.json) },
  { what: 'the same, × Portkey', atMost: 1 / 12, of: ratio(openai.json, 'Portkey') },
  { what: 'JSON 1 KB, 1 caller, × bare pipe', atMost: 1.4, of: ratio('JSON, 1 KB body, 1 callers') },
  { what: 'JSON 1 KB, 256 callers, × bare pipe', atMost: 1.4, of: ratio('JSON, 1 KB body, 256 callers') },
  { what: 'JSON 33 KB, × bare pipe', atMost: 2.3, of: ratio('JSON, 33 KB body, 32 callers') },
  { what: 'event, 8 per write, × bare pipe', atMost: 1.5, of: ratio(openai.eights) },
  { what: 'event beyond ASCII, 8 per write, × bare pipe', atMost: 1.8, of: ratio('200 events beyond ASCII, 8 per write, 8 callers') },
  { what: 'event, all at once, × bare pipe', atMost: 1.2, of: ratio('200 events, all at once, 8 callers') },
  { what: 'event, paced, × bare pipe', atMost: 1.15, of: ratio('200 events, one per write, paced 5 ms, 16 callers') },
  { what: 'JSON over TLS to the provider, × bare pipe', atMost: 1.2, of: ratio('JSON over TLS, 32 callers') },
  { what: 'event over TLS, paced, × bare pipe', atMost: 1.15, of: ratio('200 events over TLS, paced 5 ms, 16 callers') },
  ...media.filter(isLarge).map(({ name }): Target => ({ what: `${name}, × bare pipe`, atMost: 1.5, of: ratio(name) })),
  // Two processes have twice the time: at most so much more for each call is 1.7 times the rate.
  { what: 'call of 2 processes, × that of one', atMost: 2 / 1.7, of: ratioOf('JSON, 1 KB body, 64 callers', 'Headgate × 2', gateway) },
  ...(['anthropic', 'google'] as const).flatMap((provider): Target[] => [
    { what: `JSON from ${provider}, × that of OpenAI`, atMost: 1.5, of: against(`JSON from ${provider}, 32 callers`, openai.json) },
    { what: `event from ${provider}, × that of OpenAI`, atMost: 1.5, of: against(`200 events from ${provider}, 8 per write, 8 callers`, openai.eights) }
  ]),
  ...([['messages', 'anthropic', 1], ['messages', 'openai', 1.5], ['responses', 'openai', 1], ['responses', 'anthropic', 1.5]] as const).flatMap(([dialect, provider, atMost]): Target[] => [
    { what: `${dialect}: JSON from ${provider}, × that of chat`, atMost, of: against(`${dialect}: JSON from ${provider}, 32 callers`, chatLanes[provider].json) },
    { what: `${dialect}: event from ${provider}, × that of chat`, atMost, of: against(`${dialect}: 200 events from ${provider}, 8 per write, 8 callers`, chatLanes[provider].eights) }
  ]),
  ...Object.entries({ 'in step': 'first token, 16 callers', 'not in step': 'first token, 16 callers not in step' }).flatMap(([how, lane]): Target[] => [
    { what: `first byte added, 16 callers ${how}, ms, p50`, atMost: 0.5, of: added(lane, ({ firstByte }) => firstByte.p50) },
    { what: `first byte added, 16 callers ${how}, ms, p99`, atMost: 3, of: added(lane, ({ firstByte }) => firstByte.p99) }
  ]),
  { what: `${many}, KB each`, atMost: 28, of: openLanes(many, kilobytesEach) },
  { what: `${many}, event p99, ms`, atMost: 10, of: openLanes(many, ({ event }) => event.p99) },
  ...deafCallers.map(({ name }): Target => ({ what: `${name}, KB each`, atMost: 300, of: openLanes(name, kilobytesEach) })),
  { what: 'RSS idle, MB', atMost: 90, of: ({ idleBytes }) => (idleBytes.get(gateway) ?? NaN) / 2 ** 20 },
  { what: 'RSS after all lanes of JSON and streams, MB', atMost: 140, of: rssAfter(lane => !isOfMedia(lane)) },
  { what: 'RSS after those of megabytes as well, MB', atMost: 140, of: rssAfter(isOfMedia) },
  { what: 'start to first chat answer, ms', atMost: 500, of: ({ startMs }) => startMs.get(gateway) },
  ...([[1, 3], [2, 1.5], [3, 1.1]] as const).map(([second, atMost]): Target => (
    { what: `call in second ${second} after the start, × later ones`, atMost, of: ({ warm }) => warm === undefined ? undefined : (warm[second - 1] ?? NaN) / median(warm.slice(3)) }
  ))
]

/** Prints the targets a run says something about. */
export function targetTable (results: Results): string {
  const rows = targets.flatMap(({ what, atMost, of }) => {
    const value = of(results)
    return value === undefined || Number.isNaN(value) ? [] : [[what, `≤ ${digits(atMost)}`, digits(value), value <= atMost ? 'yes' : 'no']]
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

function added (lane: string, value: (sample: Sample) => number): Target['of'] {
  return ({ rounds }) => perRound(rounds.get(lane), round => {
    const [own, direct] = [round.get(gateway), round.get('direct')]
    return own === undefined || direct === undefined ? NaN : value(own) - value(direct)
  })
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

/** Returns the most that there was in the last round of some lanes. */
function rssAfter (counts: (lane: Lane) => boolean): Target['of'] {
  return ({ rounds }) => {
    const sizes = lanes.filter(counts).flatMap(({ name }) => rounds.get(name)?.at(-1)?.get(gateway)?.rssBytes ?? [])
    return sizes.length === 0 ? undefined : Math.max(...sizes) / 2 ** 20
  }
}

function perRound (rounds: readonly Round[] | undefined, value: (round: Round) => number): number | undefined {
  return rounds === undefined ? undefined : median(rounds.map(value))
}

function cost (round: Round, name: string): number {
  return round.get(name)?.cpuUsPerUnit ?? NaN
}
