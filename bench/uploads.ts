/**
 * Sends large bodies through the gateway: `npm run bench:uploads -- [--at-once 20]`.
 *
 * Recordings of 10 and 25 MB as forms and a document of 67 MB of JSON, alone and many at once. Prints the CPU
 * time of a body, the peak memory beyond the idle process, as a multiple of the bytes of the bodies, and the
 * delay of its event loop, which other calls wait for.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent } from 'undici'
import { cpuUs, rssBytes } from '../lib/load/process-cost.ts'
import { cores, freePort, start } from './support/processes.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { benchKey, benchLimits } from './support/settings.ts'
import type { LoopDelay } from './support/loop-delay.ts'

interface Upload {
  readonly name: string
  readonly path: string
  readonly type: string
  readonly body: Buffer
}

const { values: flags } = parseArgs({ options: { 'at-once': { type: 'string', default: '20' } } })
const atOnce = Math.min(Number(flags['at-once']), 100)
const directory = scratchFolder('uploads')
const loopFile = join(directory, 'loop.json')
const [port, upstreamPort] = [await freePort(), await freePort()]
const agent = new Agent({ connections: atOnce })

const upstream = await start(
  { file: process.execPath, args: [support('sink-provider.js'), String(upstreamPort)], cores: cores.mock },
  async () =>
    await fetch(`http://127.0.0.1:${upstreamPort}/`).then(
      ({ ok }) => ok,
      () => false
    )
)
const gateway = await start(
  {
    file: process.execPath,
    args: [
      '--import',
      support('loop-delay.js'),
      support('../../headgate.cjs'),
      'start',
      '--config',
      configuration()
    ],
    cores: cores.gateway,
    env: { BENCH_KEY: benchKey, BENCH_UPSTREAM_KEY: 'sk-mock', BENCH_LOOP_FILE: loopFile },
    output: join(directory, 'headgate.log')
  },
  async () =>
    await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ status }) => status === 200,
      () => false
    )
)

try {
  console.log(`Node ${process.version}

| | CPU ms each | added at most, MB | × the bodies | event loop late, ms p99 | max |
| --- | ---: | ---: | ---: | ---: | ---: |`)
  for (const upload of [recording(10), recording(25), document()]) {
    await send(upload) // for V8's compiler
    for (const count of [1, atOnce]) console.log(await measured(upload, count))
  }
} finally {
  await Promise.all([gateway.stop(), upstream.stop(), agent.destroy()])
}

async function measured (upload: Upload, count: number): Promise<string> {
  await sleep(2000) // garbage of earlier work is freed if it ever is
  const before = rssBytes(gateway.pid)
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5') // the peak counts from now on
  await loopDelay()
  const cpuBefore = cpuUs(gateway.pid)
  await Promise.all(Array.from({ length: count }, async () => await send(upload)))
  const cpu = ((cpuUs(gateway.pid) - cpuBefore) / count / 1000).toFixed(0)
  const { p99, max } = await loopDelay()
  const added = Math.max(0, peakBytes() - before)
  const factor = added / (count * upload.body.length)
  return `| ${count} × ${upload.name} | ${cpu} | ${(added / 1e6).toFixed(0)} | ${factor.toFixed(2)} | ${p99.toFixed(1)} | ${max.toFixed(1)} |`
}

async function send ({ path, type, body }: Upload): Promise<void> {
  const response = await agent.request({
    origin: `http://127.0.0.1:${port}`,
    path,
    method: 'POST',
    headers: { authorization: `Bearer ${benchKey}`, 'content-type': type },
    body
  })
  const answer = await response.body.text()
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${answer}`)
}

function peakBytes (): number {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'latin1'))?.[1]
  return Number(kilobytes) * 1024
}

/** Reads the delay of the gateway's event loop since the last reading. */
async function loopDelay (): Promise<LoopDelay> {
  rmSync(loopFile, { force: true })
  process.kill(gateway.pid, 'SIGUSR2')
  for (;;) {
    await sleep(20)
    try {
      return JSON.parse(readFileSync(loopFile, 'utf8')) as LoopDelay // as it was written there
    } catch (error) {
      if (gateway.process.exitCode !== null) throw error
    }
  }
}

function recording (megabytes: number): Upload {
  const head = Buffer.from('RIFF\0\0\0\0WAVEfmt ')
  const file = Buffer.concat([head, Buffer.alloc(megabytes * 1_000_000 - head.length, 7)])
  const part = (name: string, value: string | Buffer, more = ''): Buffer[] => [
    Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n')
  ]
  const body = Buffer.concat([
    ...part('model', 'mock/whisper-1'),
    ...part('file', file, '; filename="a.wav"'),
    Buffer.from('--b--\r\n')
  ])
  return {
    name: `recording, ${megabytes} MB`,
    path: '/v1/audio/transcriptions',
    type: 'multipart/form-data; boundary=b',
    body
  }
}

function document (): Upload {
  const bytes = Buffer.alloc(50_000_000, 7)
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').copy(bytes)
  const body = JSON.stringify({
    model: 'reader/mistral-ocr-latest',
    document: { type: 'document_url', document_url: `data:image/png;base64,${bytes.toString('base64')}` }
  })
  return {
    name: 'document, 67 MB of JSON',
    path: '/v1/ocr',
    type: 'application/json',
    body: Buffer.from(body)
  }
}

function configuration (): string {
  const file = join(directory, 'headgate.yaml')
  const provider = {
    base_url: `http://127.0.0.1:${upstreamPort}/v1`,
    api_key: 'env:BENCH_UPSTREAM_KEY',
    list_models: false
  }
  writeFileSync(
    file,
    JSON.stringify({
      server: { port, data_dir: join(directory, 'data') },
      providers: { mock: { kind: 'openai', ...provider }, reader: { kind: 'mistral', ...provider } },
      keys: [{ name: 'bench', key: 'env:BENCH_KEY', limits: benchLimits }]
    })
  )
  return file
}

function support (name: string): string {
  return fileURLToPath(new URL(`support/${name}`, import.meta.url))
}
