/**
 * Measures tools run by the gateway: `npm run bench:tools -- [--runs 500] [--soak 10000]`.
 *
 * A run is two turns of a model with one tool call between them, through `headgate start`. Its parts are the
 * same three requests made without the gateway, one after another. The difference is the loop: added latency
 * per turn, and CPU time beyond that of two plain calls. `--soak` makes that many runs instead, half of them
 * with a tool server over stdio, and counts what they leave behind.
 */

import { equal, ok } from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent } from 'undici'
import { completeText } from '../lib/load/answers.ts'
import { cpuUs, rssBytes } from '../lib/load/process-cost.ts'
import { cores, freePort, start } from './support/processes.ts'
import { rotated } from './support/rotated.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { benchKey, benchLimits } from './support/settings.ts'
import { median, medianError } from './support/statistics.ts'
import { percentile } from '../lib/load/percentile.ts'

const { values: flags } = parseArgs({
  options: { runs: { type: 'string', default: '500' }, soak: { type: 'string' } }
})
const world = fileURLToPath(new URL('support/tool-world.js', import.meta.url))
const worldPort = await freePort()
const port = await freePort()
// Our own idle connections must not be counted.
const agent = new Agent({ connections: 64, keepAliveTimeout: 1000, keepAliveMaxTimeout: 1000 })
const directory = scratchFolder('tools')
const sessionIdleMs = 1000
/** Slices of each kind that run in turn, as the speed of a machine changes from one second to the next. */
const sliceCount = 20

const outside = await start(
  { file: process.execPath, args: [world, String(worldPort)], cores: cores.mock },
  async () =>
    await post(`http://127.0.0.1:${worldPort}/`, {}).then(
      () => true,
      () => false
    )
)
const gateway = await start(
  {
    file: process.execPath,
    args: [fileURLToPath(new URL('../headgate.cjs', import.meta.url)), 'start', '--config', configuration()],
    cores: cores.gateway,
    env: { BENCH_KEY: benchKey, BENCH_UPSTREAM_KEY: 'sk-mock' },
    output: join(directory, 'headgate.log')
  },
  async () =>
    await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ status }) => status === 200,
      () => false
    )
)

try {
  if (flags.soak === undefined) await measure(Math.min(Number(flags.runs), 10_000))
  else await soak(Math.min(Number(flags.soak), 100_000))
} finally {
  await Promise.all([gateway.stop(), outside.stop(), agent.destroy()])
}

async function measure (runs: number): Promise<void> {
  const ask = { model: 'mock/tools', messages: [{ role: 'user', content: 'What is at the harbour?' }] }
  const toolRun = async (): Promise<unknown> => await throughGateway({ ...ask, mcp_servers: 'bench/remote' })
  const plainCall = async (): Promise<unknown> => await throughGateway({ ...ask, model: 'mock/json' })
  const direct = `http://127.0.0.1:${worldPort}`
  const parts = async (): Promise<void> => {
    await post(`${direct}/v1/chat/completions`, ask)
    await post(`${direct}/mcp`, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'look', arguments: {} }
    })
    await post(`${direct}/v1/chat/completions`, { ...ask, model: 'mock/json' })
  }
  const [ofRuns, ofPlain, ofParts]: [Kind, Kind, Kind] = [
    { work: toolRun, slices: [] },
    { work: plainCall, slices: [] },
    { work: parts, slices: [] }
  ]
  const kinds = [ofRuns, ofPlain, ofParts]
  for (const { work } of kinds) await slice(work, 2000) // for V8's compiler
  const perSlice = Math.ceil(runs / sliceCount)
  for (let round = 0; round < sliceCount; round++) {
    // In alternating order, as records are written some time after their calls.
    for (const { work, slices } of rotated(kinds, round)) slices.push(await slice(work, perSlice))
  }
  const [run, plain, apart] = [summary(ofRuns), summary(ofPlain), summary(ofParts)]
  const beyond = ofRuns.slices.map(({ cpu }, index) => cpu - 2 * (ofPlain.slices[index]?.cpu ?? NaN))
  const mean = beyond.reduce((sum, cpu) => sum + cpu, 0) / beyond.length
  const row = (name: string, { p50, p99, cpu }: Summary, withCpu = true): string =>
    `| ${name} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${withCpu ? cpu.toFixed(0) : ''} |`
  console.log(`Node ${process.version}, ${sliceCount} slices of ${perSlice} runs in turn by one caller, the session open\n
| | p50 ms | p99 ms | CPU µs of the gateway |
| --- | ---: | ---: | ---: |
${row('two turns and a tool, through the gateway', run)}
${row('the same three requests without it', apart, false)}
${row('a plain call through the gateway', plain)}

Added per turn: ${((run.p50 - apart.p50) / 2).toFixed(2)} ms, target 1.
The loop beyond two plain calls: ${median(beyond).toFixed(0)} µs of CPU ± ${medianError(beyond).toFixed(0)}, by the mean ${mean.toFixed(0)}; target 800.`)
}

/** Latencies of runs in milliseconds, and the CPU time of one in microseconds, of the gateway. */
interface Slice {
  readonly took: readonly number[]
  readonly cpu: number
}
interface Kind {
  readonly work: () => Promise<unknown>
  readonly slices: Slice[]
}
interface Summary {
  readonly p50: number
  readonly p99: number
  readonly cpu: number
}

async function slice (work: () => Promise<unknown>, runs: number): Promise<Slice> {
  const cpuBefore = cpuUs(gateway.pid)
  const took: number[] = []
  for (let index = 0; index < runs; index++) {
    const startMs = performance.now()
    await work()
    took.push(performance.now() - startMs)
  }
  return { took, cpu: (cpuUs(gateway.pid) - cpuBefore) / runs }
}

function summary ({ slices }: Kind): Summary {
  const took = slices.flatMap(one => one.took).toSorted((a, b) => a - b)
  return {
    p50: percentile(took, 0.5),
    p99: percentile(took, 0.99),
    cpu: median(slices.map(({ cpu }) => cpu))
  }
}

async function soak (runs: number): Promise<void> {
  const servers = ['bench/remote', 'bench/local']
  const several = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 20) {
      await Promise.all(
        Array.from(
          { length: 20 },
          async (_, index) =>
            await throughGateway({
              model: 'mock/tools',
              messages: `Run ${done + index}`,
              mcp_servers: servers[index % 2]
            })
        )
      )
    }
  }
  await several(200)
  const before = await settled()
  await several(runs)
  const after = await settled()
  console.log(`| | before | after ${runs} runs |\n| --- | ---: | ---: |
| open files and sockets | ${before.files} | ${after.files} |
| child processes | ${before.children} | ${after.children} |
| resident memory, MB | ${before.megabytes} | ${after.megabytes} |`)
  equal(after.children, 0, 'a tool server was left running')
  ok(after.files <= before.files, 'something was left open')
}

interface Holdings {
  readonly files: number
  readonly children: number
  readonly megabytes: number
}

/** Returns what the gateway holds once idle sessions and connections have had time to close. */
async function settled (): Promise<Holdings> {
  await sleep(sessionIdleMs + 6000) // undici keeps an idle connection for four seconds
  const { pid } = gateway
  return {
    files: readdirSync(`/proc/${pid}/fd`).length,
    children: readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
      .split(' ')
      .filter(id => id !== '').length,
    megabytes: Math.round(rssBytes(pid) / 2 ** 20)
  }
}

/** @throws Error unless the answer is the final one of the model */
async function throughGateway (body: object): Promise<string> {
  const answer = await post(`http://127.0.0.1:${port}/v1/chat/completions`, body)
  if (!answer.includes(completeText)) throw new Error(`another answer came: ${answer.slice(0, 500)}`)
  equal(answer.includes('"tools_executed":["look"]'), 'mcp_servers' in body)
  return answer
}

async function post (url: string, body: object): Promise<string> {
  const { origin, pathname } = new URL(url)
  const response = await agent.request({
    origin,
    path: pathname,
    method: 'POST',
    headers: { authorization: `Bearer ${benchKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  return await response.body.text()
}

function configuration (): string {
  const file = join(directory, 'headgate.yaml')
  writeFileSync(
    file,
    JSON.stringify({
      server: { port, data_dir: join(directory, 'data') },
      providers: {
        mock: {
          kind: 'openai',
          base_url: `http://127.0.0.1:${worldPort}/v1`,
          api_key: 'env:BENCH_UPSTREAM_KEY',
          list_models: false
        }
      },
      keys: [{ name: 'bench', key: 'env:BENCH_KEY', limits: benchLimits }],
      mcp_servers: {
        'bench/remote': { url: `http://127.0.0.1:${worldPort}/mcp` },
        'bench/local': { command: process.execPath, args: [world, 'stdio'] }
      },
      ...flags.soak !== undefined && { tools: { session_idle_ms: sessionIdleMs } }
    })
  )
  return file
}
