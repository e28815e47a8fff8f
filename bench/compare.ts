/**
 * Compares complete gateways side by side: `npm run bench:compare -- [--quick | --table] [--rounds 4]
 * [--seconds 2] [--only 'bare pipe,Headgate'] [--lanes JSON]`. `--table` measures everything in
 * `bench/README.md`, in ten minutes: other gateways only in the lanes of `--quick`, and with the fewest open
 * streams.
 *
 * Each round runs every contender once in every lane, in alternating order, first without and then with
 * bodies of megabytes, after one round of warm-up. The results are medians over the rounds, and ratios to the
 * bare pipe per round, which hold on a noisy machine where absolute numbers do not.
 */

import { cpus, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { tls } from './support/certificate.ts'
import { contenders, type Contender, type Running } from './support/contenders.ts'
import { deafCallers, isOfMedia, lanes, slowStreams, type Lane } from './support/lanes.ts'
import { measureLane, startLoad, startMock, type Sample, type Times } from './support/measure-lane.ts'
import { median } from './support/statistics.ts'
import type { Started } from './support/processes.ts'
import { rssBytes } from '../lib/load/process-cost.ts'
import { coldStartTable, openTable, laneTable, warmTable, type Round } from './support/report.ts'
import { peerTable } from './support/peers.ts'
import { rotated } from './support/rotated.ts'
import { targetTable, type Results } from './support/targets.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string' },
    lanes: { type: 'string' }
  }
})
const rounds = bounded(flags.rounds, flags.table ? 3 : flags.quick ? 2 : 4, 20)
const times: Times = {
  warmUpMs: 500,
  durationMs: bounded(flags.seconds, flags.table ? 0.5 : flags.quick ? 1 : 2, 30) * 1000
}

const chosen = contenders.filter(({ name, missing }) => {
  if (flags.only !== undefined && !flags.only.split(',').includes(name)) return false
  const reason = missing?.()
  if (reason !== undefined) console.log(`Without ${name}, missing: ${reason}.`)
  return reason === undefined
})
if (tls === undefined) console.log('Without the lanes over TLS: openssl is not installed.')
/** Long enough for garbage from the start to be collected. */
const idleMs = 2_000
const { upstreamPort, mock } = await startMock()
const load = await startLoad()
const open = new Set<Started>([mock, load])
const results: Results = {
  rounds: new Map(),
  openLanes: new Map(),
  callers: new Map(),
  startMs: new Map(),
  idleBytes: new Map()
}

try {
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ` +
    `${Math.round(totalmem() / 2 ** 30)} GiB, ${rounds} rounds of ${times.durationMs} ms per lane\n`)
  await compareLanes(lanes.filter(wanted))
  for (const lane of [...slowStreams, ...deafCallers].filter(wanted)) {
    const samples = await inTurn(lane, deafCallers.includes(lane) ? 3_000 : 5_000)
    results.openLanes.set(lane.name, samples)
    results.callers.set(lane.name, lane.callers)
    console.log(openTable(lane, samples))
  }
  if (named('warm')) await compareWarmUps()
  if (named('cold start')) await compareStarts()
  console.log(targetTable(results))
  console.log(peerTable(results, chosen.filter(({ peer }) => peer).map(({ name }) => name)))
} finally {
  await Promise.all([...open].map(async started => await started.stop()))
}

function wanted ({ name, quick }: Lane): boolean {
  if (tls === undefined && name.includes('TLS')) return false
  return named(name) && (quick || !flags.quick)
}

/** Returns whether `--lanes` selects it; without the option everything is selected. */
function named (name: string): boolean {
  return flags.lanes?.split(';').some(part => name.includes(part)) ?? true
}

function takesPart ({ name }: Contender, lane: Lane): boolean {
  const isBase = ['direct', 'bare pipe', 'Headgate', 'Headgate before'].includes(name)
  return (
    (lane.only?.includes(name) ?? true) && (isBase || !flags.table || lane.quick || lane === slowStreams[0])
  )
}

async function compareLanes (selected: readonly Lane[]): Promise<void> {
  const running = new Map<Contender, Running>()
  for (const contender of chosen) {
    if (contender.start !== undefined) running.set(contender, await opened(contender))
  }
  const taken = new Map<Lane, Round[]>(selected.map(lane => [lane, []]))
  // The lanes without megabytes show what a process needs without them.
  for (const group of [selected.filter(lane => !isOfMedia(lane)), selected.filter(isOfMedia)]) {
    // Round 0 is for V8's compiler, and discarded.
    for (let round = 0; round <= rounds; round++) {
      for (const lane of group) {
        const samples = new Map<string, Sample>()
        for (const contender of rotated(chosen.filter(contender => takesPart(contender, lane)), round)) {
          const target = running.get(contender) ?? { port: upstreamPort, pid: mock.pid }
          samples.set(contender.name, await measureLane(load, lane, contender, target, upstreamPort, times))
        }
        if (round > 0) taken.get(lane)?.push(samples)
      }
    }
  }
  for (const [lane, all] of taken) {
    results.rounds.set(lane.name, all)
    console.log(laneTable(lane, all))
  }
  for (const contender of running.values()) await closed(contender)
}

/** One contender after another, each in a fresh process. */
async function inTurn (lane: Lane, durationMs: number): Promise<Map<string, Sample>> {
  const samples = new Map<string, Sample>()
  for (const contender of chosen.filter(contender => takesPart(contender, lane))) {
    if (contender.start === undefined) continue
    const running = await opened(contender)
    try {
      samples.set(
        contender.name,
        await measureLane(load, lane, contender, running, upstreamPort, { warmUpMs: 0, durationMs })
      )
    } catch (error) {
      // The others can still be compared; but without one of ours the run has failed.
      console.log(String(error))
      if (contender.peer !== true) process.exitCode = 1
    }
    await closed(running)
  }
  return samples
}

/** Full load from the first call on: the cost of a call in each second after the start. */
async function compareWarmUps (): Promise<void> {
  const lane = lanes.find(({ name }) => name === 'JSON, 1 KB body, 32 callers')
  if (lane === undefined) return
  const seconds = new Map<string, number[]>()
  for (const contender of chosen) {
    if (contender.start === undefined) continue
    const running = await opened(contender)
    const costs: number[] = []
    for (let second = 1; second <= 8; second++) {
      costs.push(
        (await measureLane(load, lane, contender, running, upstreamPort, { warmUpMs: 0, durationMs: 1_000 }))
          .cpuUsPerUnit
      )
    }
    seconds.set(contender.name, costs)
    await closed(running)
  }
  console.log(warmTable(seconds))
}

async function compareStarts (): Promise<void> {
  const readyMs = new Map<string, number[]>()
  const idle = new Map<string, number>()
  for (let round = 0; round < rounds + 1; round++) {
    for (const contender of rotated(chosen, round)) {
      if (contender.start === undefined) continue
      const running = await opened(contender)
      readyMs.set(contender.name, [...readyMs.get(contender.name) ?? [], running.readyMs])
      if (round === rounds) {
        await sleep(idleMs)
        idle.set(contender.name, rssBytes(running.pid))
      }
      await closed(running)
    }
  }
  for (const [name, all] of readyMs) results.startMs.set(name, median(all))
  for (const [name, bytes] of idle) results.idleBytes.set(name, bytes)
  console.log(coldStartTable(readyMs, idle))
}

async function opened (contender: Contender): Promise<Running> {
  if (contender.start === undefined) throw new Error(`${contender.name} is not a process`)
  const running = await contender.start(upstreamPort)
  open.add(running)
  return running
}

async function closed (running: Running): Promise<void> {
  await running.stop()
  open.delete(running)
}

function bounded (flag: string | undefined, normal: number, most: number): number {
  const value = Number(flag ?? normal)
  return Number.isFinite(value) && value > 0 ? Math.min(value, most) : normal
}
