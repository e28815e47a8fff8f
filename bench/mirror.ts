/**
 * Measures the effect of mirroring on callers: `npm run bench:mirror -- [--rate 300] [--rounds 12]`. Routes
 * lead to one simulated provider, and a share of the calls of each is mirrored. Calls are sent at a fixed
 * rate that does not saturate the gateway, in slices of a few seconds, to one route after another.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { httpLanes, type HttpLane } from '../lib/load/http-lanes.ts'
import { openLoop } from '../lib/load/open-loop.ts'
import { costOfProcess } from '../lib/load/process-cost.ts'
import { openTarget } from '../lib/load/send-call.ts'
import { startSimulatedProvider } from '../lib/load/simulated-provider.ts'
import { cores, freePort, start } from './support/processes.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { benchLimits, benchPrices } from './support/settings.ts'
import { median } from './support/statistics.ts'

const shares = [0, 0.1, 1] as const
const { values: flags } = parseArgs({
  options: { rate: { type: 'string', default: '300' }, rounds: { type: 'string', default: '12' } }
})
const rounds = Number(flags.rounds)
const secondsOfSlice = 2
const perSecond = Number(flags.rate)
if (!(perSecond >= 1 && perSecond <= 2000)) throw new Error('`--rate` is between 1 and 2000 calls a second')
const key = 'hg_bench_0123456789abcdef0123456789abcdef'

const nameOf = (share: number): string => `mirrored-${share * 100}`
const [plainLane] = httpLanes
if (plainLane === undefined) throw new Error('there is no lane')
const lane: HttpLane = {
  ...plainLane,
  body: model => JSON.stringify({ ...JSON.parse(plainLane.body('mock')) as object, model })
}

const provider = await startSimulatedProvider({ host: '127.0.0.1', port: 0 })
const folder = scratchFolder('mirror')
writeFileSync(
  join(folder, 'headgate.yaml'),
  JSON.stringify({
    providers: {
      mock: {
        kind: 'openai-compatible',
        base_url: `http://127.0.0.1:${provider.port}/v1`,
        list_models: false
      }
    },
    routes: Object.fromEntries(shares.map(share => [
      nameOf(share),
      { models: ['mock/json'], ...share > 0 && { mirror: { model: 'mock/json', share } } }
    ])),
    models: benchPrices,
    keys: [{ name: 'bench', key: 'env:BENCH_KEY', limits: benchLimits }]
  })
)
const port = await freePort()
const target = openTarget(new URL(`http://127.0.0.1:${port}`), key)
const gateway = await start(
  {
    file: process.execPath,
    args: [join(import.meta.dirname, '../headgate.cjs'), 'start', '--config', join(folder, 'headgate.yaml')],
    env: { BENCH_KEY: key, PORT: String(port), HEADGATE_DATA_DIR: folder },
    cores: cores.gateway,
    output: join(folder, 'log')
  },
  async () =>
    (await openLoop(target, lane, { provider: nameOf(0), count: 1, perSecond: 1 })).answered === 1
)

interface Slice {
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time of the gateway, as a fraction of one core. */
  readonly core: number
  /** Requests to the provider per call. */
  readonly asked: number
}

async function slice (share: number): Promise<Slice> {
  const readCost = costOfProcess(gateway.pid)
  const count = perSecond * secondsOfSlice
  const [asked, before, startMs] = [provider.calls(), await readCost(), performance.now()]
  const load = { provider: nameOf(share), count, perSecond }
  const { answered, p50Ms, p99Ms } = await openLoop(target, lane, load)
  if (answered !== count) throw new Error(`${count - answered} calls failed`)
  const core = ((await readCost()).cpuUs - before.cpuUs) / 1000 / (performance.now() - startMs)
  return { p50Ms, p99Ms, core, asked: (provider.calls() - asked) / count }
}

try {
  const slices = new Map<number, Slice[]>(shares.map(share => [share, []]))
  for (let round = -1; round < rounds; round++) {
    for (const share of round % 2 === 0 ? shares : shares.toReversed()) {
      const measured = await slice(share)
      if (round >= 0) slices.get(share)?.push(measured)
    }
  }
  console.log(`${perSecond} calls a second, medians of ${rounds} slices of ${secondsOfSlice} s`)
  for (const [share, all] of slices) {
    const of = (field: keyof Slice): string => median(all.map(each => each[field])).toFixed(2)
    console.log(
      `share ${share}: p50 ${of('p50Ms')} ms, p99 ${of('p99Ms')} ms, ` +
      `${of('core')} of a core, ${of('asked')} requests to the provider for each call`
    )
  }
} finally {
  target.agent.destroy()
  await gateway.stop()
  await provider.close()
}
