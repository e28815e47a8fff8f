/** A real gateway in its own process, in front of fake providers, with its observable state. */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { Agent, request } from 'undici'
import { rssBytes } from '../../lib/load/process-cost.ts'
import { cores, freePort, start, type Started } from '../support/processes.ts'

export const key = 'soak-key'

export interface World {
  readonly url: string
  readonly port: number
  readonly directory: string
  readonly dataDir: string
  readonly process: Started
  /** File of standard output and errors. */
  readonly log: string
  readonly post: (path: string, body: unknown, options?: PostOptions) => Promise<Answer>
  readonly postForm: (path: string, form: FormData) => Promise<Answer>
  readonly ask: (method: 'GET' | 'DELETE', path: string) => Promise<Answer>
  /** Returns whether an answer that is fetched later is ready. */
  readonly isReady: (path: string) => Promise<boolean>
  /**
   * Sums the lines of a metric.
   * @param label required in each line: `endpoint="chat"`
   */
  readonly metric: (name: string, label?: string) => Promise<number>
  /** Degraded parts, as reported by `/health`. */
  readonly degraded: () => Promise<readonly string[]>
  /** Open file descriptors. */
  readonly descriptors: () => number
  readonly rssMb: () => number
  /** `x-request-id` of every row of the usage ledger. */
  readonly ledgerIds: () => string[]
  readonly stop: () => Promise<void>
  /** Kills it as the out-of-memory killer would: without a chance to react. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same data. */
  readonly restart: () => Promise<World>
}

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface WorldOptions {
  /** Merged into the configuration. */
  readonly configuration?: Readonly<Record<string, unknown>>
  /** Arguments of Node.js before the program. */
  readonly nodeArgs?: readonly string[]
  readonly dataDir?: string
  readonly env?: Readonly<Record<string, string>>
}

export const main = new URL('../../headgate.cjs', import.meta.url).pathname

/** Starts a gateway on a free port; `stop` also removes its folder. */
export async function startWorld (options: WorldOptions = {}): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-soak-'))
  return await launch(directory, options)
}

async function launch (directory: string, options: WorldOptions): Promise<World> {
  const { configuration = {}, nodeArgs = [], dataDir = join(directory, 'data'), env = {} } = options
  const [port, metricsPort] = [await freePort(), await freePort()]
  const file = join(directory, 'headgate.yaml')
  const log = join(directory, 'headgate.log')
  writeFileSync(file, JSON.stringify({
    server: { port, data_dir: dataDir },
    metrics: { port: metricsPort },
    keys: [{ name: 'soak', key: 'env:SOAK_KEY' }],
    ...configuration
  }))
  const url = `http://127.0.0.1:${port}`
  const agent = new Agent({ connections: 512, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
  const child = await start({
    file: process.execPath,
    args: [...nodeArgs, main, 'start', '--config', file],
    cores: [...cores.gateway, ...cores.load],
    env: { SOAK_KEY: key, SOAK_UPSTREAM_KEY: 'sk-soak', ...env },
    output: log
  }, async () => await fetch(`${url}/readyz`).then(({ status }) => status === 200, () => false))
  const { pid } = child
  return {
    url,
    port,
    directory,
    dataDir,
    process: child,
    log,
    post: async (path, body, { headers = {}, signal } = {}) => {
      const answer = await request(url + path, {
        method: 'POST',
        dispatcher: agent,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
        signal: signal ?? null
      })
      return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
    },
    postForm: async (path, form) => {
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: form
      })
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        text: await answer.text()
      }
    },
    ask: async (method, path) => {
      const answer = await fetch(url + path, { method, headers: { authorization: `Bearer ${key}` } })
      return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
    },
    isReady: async path => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
      const { status } = Object(await answer.json()) as { readonly status?: string }
      return answer.status !== 202 && status !== 'queued' && status !== 'in_progress'
    },
    metric: async (name, label = '') => {
      const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      return [...page.matchAll(new RegExp(`^${name}(?:{.*${label}.*})? (\\S+)$`, 'gm'))].reduce(
        (sum, [, value]) => sum + Number(value),
        0
      )
    },
    degraded: async () => {
      const answer = await fetch(`${url}/health`, { headers: { authorization: `Bearer ${key}` } })
      const { degraded = [] } = Object(await answer.json()) as { readonly degraded?: readonly string[] }
      return degraded
    },
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    rssMb: () => Math.round(rssBytes(pid) / 1e6),
    ledgerIds: () => {
      const database = new DatabaseSync(join(dataDir, 'headgate.db'), { readOnly: true })
      try {
        return database.prepare('select call_id from usage').all().map(row => String(Object(row).call_id))
      } finally {
        database.close()
      }
    },
    stop: async () => {
      await child.stop()
      await agent.destroy()
      rmSync(directory, { recursive: true, force: true })
    },
    kill: async () => {
      const exit = new Promise(resolve => child.process.once('exit', resolve))
      child.process.kill('SIGKILL')
      await exit
      await agent.destroy()
    },
    restart: async () => await launch(directory, options)
  }
}

/** Returns a configuration entry of a provider at a fake upstream. */
export function providerAt (
  port: number,
  kind = 'openai',
  more: Readonly<Record<string, unknown>> = {}
): Record<string, unknown> {
  const base =
    kind === 'openai' || kind === 'mistral' ? `http://127.0.0.1:${port}/v1` : `http://127.0.0.1:${port}`
  return { kind, base_url: base, api_key: 'env:SOAK_UPSTREAM_KEY', list_models: false, ...more }
}
