/**
 * Measures what each part of the gateway costs: `npm run bench:ablate -- [--rounds 24] [--seconds 0.25]
 * [--lanes 'JSON, 33 KB']`.
 *
 * Leaves out one part at a time, in gateways assembled for this purpose (`support/ablated`), and prints by
 * how much a call or an event gets cheaper. Each round runs every gateway once, in alternating order; the
 * numbers are medians over the rounds of differences within a round. The slices are short because the speed
 * of the machine changes from second to second: those of a round are then compared at about the same moment.
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Contender, Running } from './support/contenders.ts'
import { lanes, type Lane } from './support/lanes.ts'
import { measureLane, startLoad, startMock, type Times } from './support/measure-lane.ts'
import { cores, freePort, start } from './support/processes.ts'
import { table } from './support/report.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { benchKey } from './support/settings.ts'
import { median, medianError } from './support/statistics.ts'

/** Parts that can be left out, and what remains without each. */
const parts = {
  nothing: 'everything on',
  log: 'the log line of each call',
  ledger: 'usage records and their journal',
  limits: 'limits of the key',
  metrics: 'metrics of each call',
  validation: 'the schema of the request',
  translation: 'adapter, events, usage, and the answer made of them'
} as const

export type Part = keyof typeof parts

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '24' },
    seconds: { type: 'string', default: '0.25' },
    // Its gateways know no provider but the mock.
    lanes: { type: 'string', default: 'JSON, 1 KB body, 32;200 events, 8 per write' }
  }
})
const rounds = Number(flags.rounds)
const times: Times = { warmUpMs: 50, durationMs: Number(flags.seconds) * 1000 }
/** The time after which a call of a fresh process has its final cost. */
const firstWarmUpMs = 4_000
const chosen = lanes.filter(({ name }) => flags.lanes.split(';').some(part => name.includes(part)))
const bearer = { authorization: `Bearer ${benchKey}` }

const { upstreamPort, mock } = await startMock()
const load = await startLoad()
const running = new Map<Part, Running>()
try {
  for (const part of Object.keys(parts) as Part[]) running.set(part, await opened(part))
  for (const lane of chosen) console.log(await ablated(lane))
} finally {
  await Promise.all([mock, load, ...running.values()].map(async started => await started.stop()))
}

async function opened (part: Part): Promise<Running> {
  const port = await freePort()
  const directory = scratchFolder('ablate')
  const file = fileURLToPath(new URL('support/ablated.js', import.meta.url))
  const args = [file, part, String(port), String(upstreamPort), directory]
  const command = { file: process.execPath, args, cores: cores.gateway, output: join(directory, 'log') }
  const ready = async (): Promise<boolean> =>
    await fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false
    )
  return { ...(await start(command, ready)), port }
}

async function ablated (lane: Lane): Promise<string> {
  const costs = new Map<Part, number[]>([...running.keys()].map(part => [part, []]))
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? [...running] : [...running].toReversed()
    for (const [part, target] of order) {
      const contender: Contender = { name: part, headers: () => bearer }
      const { cpuUsPerUnit } = await measureLane(load, lane, contender, target, upstreamPort, {
        ...times, ...round === 0 && { warmUpMs: firstWarmUpMs }
      })
      if (round > 0) costs.get(part)?.push(cpuUsPerUnit) // round 0 is for V8's compiler
    }
  }
  const baseline = costs.get('nothing') ?? []
  const rows = [...costs].map(([part, us]) => {
    if (part === 'nothing') return [parts.nothing, median(us).toFixed(2), '', '', '']
    const less = us.map((cost, round) => (baseline[round] ?? NaN) - cost)
    return [
      `without ${part}`,
      median(us).toFixed(2),
      median(less).toFixed(2),
      medianError(less).toFixed(2),
      parts[part]
    ]
  })
  return table(
    lane.name,
    ['', `CPU µs per ${lane.unit}`, 'less than with everything on', '±', 'what is left out'],
    rows
  )
}
