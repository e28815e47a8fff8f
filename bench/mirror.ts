/**
 * Measures what callers notice of a mirror: `npm run bench:mirror`. Two routes lead to the same simulated
 * provider, and all calls of one of them go to another model as well. Four callers use them in turn, a few
 * hundred calls at a time.
 */

import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { equal } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { completeText } from '../lib/load/answers.ts'
import { percentile } from '../lib/load/percentile.ts'
import { startSimulatedProvider } from '../lib/load/simulated-provider.ts'
import { cores, freePort, start } from './support/processes.ts'
import { scratchFolder } from './support/scratch-folder.ts'

const [slices, callsOfSlice, callers] = [20, 250, 4]
const routes = ['plain', 'mirrored'] as const
const key = 'hg_bench_0123456789abcdef0123456789abcdef'

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
    routes: {
      plain: { models: ['mock/json'] },
      mirrored: { models: ['mock/json'], mirror: { model: 'mock/json', share: 1, max_in_flight: callers } }
    },
    keys: [{ name: 'bench', key: 'env:BENCH_KEY' }]
  })
)
const port = await freePort()
const gateway = await start(
  {
    file: process.execPath,
    args: [join(import.meta.dirname, '../headgate.cjs'), 'start', '--config', join(folder, 'headgate.yaml')],
    env: { BENCH_KEY: key, PORT: String(port), HEADGATE_DATA_DIR: folder },
    cores: cores.gateway,
    output: join(folder, 'log')
  },
  async () =>
    await call('plain').then(
      () => true,
      () => false
    )
)

/** Makes a call and returns how long it took. */
async function call (model: string): Promise<number> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
  const began = performance.now()
  const sent = request({
    port,
    host: '127.0.0.1',
    path: '/v1/chat/completions',
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length
    }
  })
  sent.end(body)
  const [response] = await once(sent, 'response') as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece) // no encoding is set
  const ms = performance.now() - began
  equal(Buffer.concat(pieces).toString().includes(completeText), true)
  return ms
}

async function slice (model: string): Promise<number[]> {
  const all: number[] = []
  await Promise.all(Array.from({ length: callers }, async () => {
    while (all.length < callsOfSlice) all.push(await call(model))
  }))
  return all
}

try {
  const took = { plain: [] as number[], mirrored: [] as number[] }
  const before = provider.calls()
  for (let round = -1; round < slices; round++) {
    for (const route of round % 2 === 0 ? routes : routes.toReversed()) {
      const all = await slice(route)
      if (round >= 0) took[route].push(...all)
    }
  }
  const mirrored = provider.calls() - before - 2 * (slices + 1) * callsOfSlice
  for (const route of routes) {
    const sorted = took[route].toSorted((a, b) => a - b)
    const [p50, p99] = [0.5, 0.99].map(part => percentile(sorted, part).toFixed(2))
    console.log(`${route}: ${sorted.length} calls of ${callers} callers, ms: p50 ${p50}, p99 ${p99}`)
  }
  console.log(`about ${mirrored} calls were mirrored`)
} finally {
  await gateway.stop()
  await provider.close()
}
