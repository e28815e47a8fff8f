/**
 * Measures how long calls wait while their gateway sums up the records of an earlier version's store:
 *
 * node build/bench/scale/upgrade.js --directory DIRECTORY [--postgres postgres://…] [--seconds 30] [--rate
 * 100]
 *
 * `usage-query.js --records-only` creates the store, and this run changes it. Calls have an end user, a
 * session and a tag. At first nothing is summed up, as in the hour after an upgrade; then the gateway is
 * restarted and sums up.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Secret } from '../../lib/core/secret.ts'
import { httpLanes, type HttpLane } from '../../lib/load/http-lanes.ts'
import { openLoop } from '../../lib/load/open-loop.ts'
import { openTarget } from '../../lib/load/send-call.ts'
import { startSimulatedProvider } from '../../lib/load/simulated-provider.ts'
import { allNames } from '../../lib/stores/name-rollups.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { cores, freePort, start } from '../support/processes.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    postgres: { type: 'string' },
    seconds: { type: 'string', default: '30' },
    rate: { type: 'string', default: '100' }
  }
})
const { directory, postgres } = values
if (directory === undefined) throw new Error('name the --directory of the store')
const [seconds, perSecond] = [Number(values.seconds), Number(values.rate)]
const hourMs = 3_600_000

const [lane] = httpLanes
if (lane === undefined) throw new Error('there is no lane')
const attributed: HttpLane = {
  ...lane,
  body: provider => JSON.stringify({
    ...JSON.parse(lane.body(provider)) as object, user: 'user-7', metadata: { tags: ['tag-7'] }
  })
}
const key = 'hg_bench_0123456789abcdef0123456789abcdef'

const place = {
  server: { dataDir: directory },
  store: {
    poolSize: 1,
    connectMs: 10_000,
    statementMs: 60_000,
    keysStaleMs: 1000,
    ...postgres !== undefined && { url: new Secret(postgres) }
  }
}
const provider = await startSimulatedProvider({ host: '127.0.0.1', port: 0 })
const folder = scratchFolder('upgrade')
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
    keys: [{ name: 'bench', key: 'env:BENCH_KEY' }],
    ...postgres !== undefined && { store: { url: 'env:DATABASE_URL' } }
  })
)
try {
  await measure('not summed up', hourMs)
  await measure('summed up meanwhile', 0)
} finally {
  await provider.close()
}

/** @param waitMs until the gateway may begin to sum up */
async function measure (name: string, waitMs: number): Promise<void> {
  const opened = await timed(async () => await openDatabase(place))
  const { query } = opened.result
  const newest = await query.selectFrom('usage').select('at_ms').orderBy('at_ms', 'desc').limit(1)
    .executeTakeFirstOrThrow()
  const backlog = { at_ms: waitMs > 0 ? Date.now() + waitMs : newest.at_ms + 1, id: '' }
  await query.deleteFrom('rollup_backlog').execute()
  await query.deleteFrom('name_rollups').execute()
  await query.insertInto('rollup_backlog').values(backlog).execute()
  await opened.result.close()
  const port = await freePort()
  const target = openTarget(new URL(`http://127.0.0.1:${port}`), key)
  const call = { provider: 'mock', count: 1, perSecond: 1 }
  const main = join(import.meta.dirname, '../../headgate.cjs')
  const started = await timed(async () => await start(
    {
      file: process.execPath,
      args: [main, 'start', '--config', join(folder, 'headgate.yaml')],
      env: {
        BENCH_KEY: key,
        PORT: String(port),
        HEADGATE_DATA_DIR: values.directory ?? folder,
        ...postgres !== undefined && { DATABASE_URL: postgres }
      },
      cores: cores.gateway,
      output: join(folder, 'log')
    },
    async () => (await openLoop(target, attributed, call)).answered === 1
  ))
  try {
    await openLoop(target, attributed, { ...call, count: 5 * perSecond, perSecond }) // warm-up
    const load = { ...call, count: seconds * perSecond, perSecond }
    const { due, answered, failures, p50Ms, p99Ms, maxMs } = await openLoop(target, attributed, load)
    const summed = await summedUp()
    const [p50, p99, max] = [p50Ms, p99Ms, maxMs].map(ms => ms.toFixed(1))
    console.log(
      `${name}: opened in ${opened.ms.toFixed(0)} ms, first answer after ${started.ms.toFixed(0)} ms; ` +
      `${answered} of ${due} calls at ${perSecond} a second: p50 ${p50}, p99 ${p99}, max ${max} ms; ` +
      `${summed} records summed up; ${JSON.stringify(failures)}`
    )
  } finally {
    target.agent.destroy()
    await started.result.stop()
  }
}

/** Counts the records of the store that are in the sums by now, including those of this load. */
async function summedUp (): Promise<number> {
  const { query, close } = await openDatabase(place)
  const { calls } = await query
    .selectFrom('name_rollups')
    .select(({ fn }) => fn.sum<number>('calls').as('calls'))
    .where('kind', '=', 'end_user').where('name', '=', allNames).executeTakeFirstOrThrow()
  await close()
  return calls ?? 0
}

async function timed<T> (run: () => Promise<T>): Promise<{ readonly result: T, readonly ms: number }> {
  const startMs = performance.now()
  const result = await run()
  return { result, ms: performance.now() - startMs }
}
