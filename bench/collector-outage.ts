/**
 * Runs at full load with spans, metrics and log records while the collector refuses connections, then answers
 * late, then recovers: `npm run bench:collector -- [--seconds 600]`. A gateway without telemetry is measured
 * before and after. Prints the effect on callers, the memory of the gateway, and what it dropped.
 */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rssBytes } from '../lib/load/process-cost.ts'
import { headgate, type Contender, type Running } from './support/contenders.ts'
import { lanes, type Lane } from './support/lanes.ts'
import { measureLane, startLoad, startMock } from './support/measure-lane.ts'
import { freePort } from './support/processes.ts'
import { table } from './support/report.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { median } from './support/statistics.ts'

const { values: flags } = parseArgs({ options: { seconds: { type: 'string', default: '600' } } })
const outageSeconds = Number(flags.seconds)
if (!(outageSeconds >= 1 && outageSeconds <= 3600)) throw new Error('`--seconds` is between 1 and 3600')
/** Duration of the other phases. */
const phaseSeconds = Math.min(60, outageSeconds)
const sliceSeconds = Math.min(5, outageSeconds)
/** Delay of the slow collector: longer than OpenTelemetry's exporters wait. */
const lateMs = 15_000

const lane = laneNamed('JSON, 1 KB body, 32 callers')

const [collectorPort, metricsPort] = [await freePort(), await freePort()]
let answersAfterMs = 0
let received = 0
const collector = createServer((request, response) => {
  request.on('data', (bytes: Buffer) => { received += bytes.length })
  request.on('end', () => {
    void sleep(answersAfterMs).then(() => response.setHeader('content-type', 'application/x-protobuf').end())
  })
})

function laneNamed (name: string): Lane {
  const found = lanes.find(lane => lane.name === name)
  if (found === undefined) throw new Error('there is no such lane')
  return found
}

async function listen (): Promise<void> {
  collector.listen(collectorPort, '127.0.0.1')
  await once(collector, 'listening')
}

async function refuse (): Promise<void> {
  collector.close()
  collector.closeAllConnections()
  await once(collector, 'close')
}

const logFile = join(scratchFolder('collector-outage'), 'log')
const plain = headgate('without telemetry')
const traced = headgate('with telemetry', {
  output: logFile,
  config: {
    telemetry: {
      otlp: { endpoint: `http://127.0.0.1:${collectorPort}`, metrics: true, logs: true, sample: 1 }
    },
    metrics: { port: metricsPort }
  }
})

interface Phase {
  readonly calls: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxRssBytes: number
}

const { upstreamPort, mock } = await startMock()
const load = await startLoad()

/** @throws Error if a call failed */
async function phase (contender: Contender, running: Running, seconds: number): Promise<Phase> {
  const slices = []
  let maxRssBytes = 0
  const timer = setInterval(() => { maxRssBytes = Math.max(maxRssBytes, rssBytes(running.pid)) }, 250)
  try {
    for (let elapsed = 0; elapsed < seconds; elapsed += sliceSeconds) {
      const times = { warmUpMs: 0, durationMs: sliceSeconds * 1000 }
      slices.push(await measureLane(load, lane, contender, running, upstreamPort, times))
    }
  } finally {
    clearInterval(timer)
  }
  return {
    calls: slices.reduce((sum, { requests }) => sum + requests, 0),
    perSecond: median(slices.map(({ unitsPerSecond }) => unitsPerSecond)),
    p50Ms: median(slices.map(({ latency }) => latency.p50)),
    p99Ms: median(slices.map(({ latency }) => latency.p99)),
    maxRssBytes
  }
}

async function dropped (): Promise<number[]> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return ['headgate_spans_dropped_total', 'headgate_log_records_dropped_total'].map(name =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? NaN))
}

const rows: string[][] = []

function addRow (name: string, { calls, perSecond, p50Ms, p99Ms, maxRssBytes }: Phase, lost: number[]): void {
  rows.push([
    name,
    calls.toLocaleString('en'),
    perSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    (maxRssBytes / 2 ** 20).toFixed(0),
    ...lost.map(count => count.toLocaleString('en')),
    (received / 2 ** 20).toFixed(1)
  ])
  received = 0
}

async function measurePlain (): Promise<void> {
  const running = await plain.start?.(upstreamPort)
  if (running === undefined) throw new Error('it does not start')
  await phase(plain, running, sliceSeconds)
  addRow('without telemetry', await phase(plain, running, phaseSeconds), [0, 0])
  await running.stop()
}

try {
  await listen()
  await measurePlain()
  const running = await traced.start?.(upstreamPort)
  if (running === undefined) throw new Error('it does not start')
  await phase(traced, running, sliceSeconds)
  const measure = async (name: string, seconds: number): Promise<void> => {
    addRow(name, await phase(traced, running, seconds), await dropped())
  }
  await measure('collector there', phaseSeconds)
  await refuse()
  for (let part = 1; part <= 3; part++) {
    await measure(`refuses connections, third ${part}`, outageSeconds / 3)
  }
  await listen()
  answersAfterMs = lateMs
  await measure(`answers after ${lateMs / 1000} s`, phaseSeconds)
  answersAfterMs = 0
  await phase(traced, running, sliceSeconds)
  await measure('back', phaseSeconds)
  await running.stop()
  await measurePlain()
  console.log(table(
    `${outageSeconds} seconds without a collector at full load; every call succeeded`,
    [
      'collector', 'calls', 'a second', 'p50, ms', 'p99, ms', 'RSS at most, MB',
      'spans dropped so far', 'log records dropped so far', 'MB received'
    ],
    rows
  ))
  const lines = readFileSync(logFile, 'utf8').split('\n').filter(line => line.includes('were dropped'))
  console.log(`${lines.length} lines of the log say what was dropped`)
} finally {
  collector.close()
  collector.closeAllConnections()
  await Promise.all([load.stop(), mock.stop()])
}
