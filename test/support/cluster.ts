/** Gateways as separate processes on one store, and callers that record their answers. */

import { writeFileSync, mkdirSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { startGateway, type Running } from './headgate.ts'
import { chatAnswer, fakeUpstream } from './upstream.ts'
import type { Test } from 'tap'
import type { Database, StoreLocation } from '../../lib/stores/database.ts'

/** The key of the configuration that every node has. */
export const clusterKey = 'cluster-key-of-the-tests'

export type Node = Running & { readonly url: string }

export interface Cluster {
  /** The store of all nodes. */
  readonly place: StoreLocation
  /** Starts a node; one of the same name takes over the directory of its predecessor. */
  readonly start: (name: string, port?: number, own?: OwnOptions) => Promise<Node>
}

/** Options of one node only. */
export interface OwnOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Options of Node.js. */
  readonly before?: readonly string[]
}

export interface ClusterOptions {
  readonly place: StoreLocation
  readonly script?: Parameters<typeof fakeUpstream>[0]
  /** More entries of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>
  /** More variables of every node. */
  readonly env?: Readonly<Record<string, string>>
}

export async function clusterOf (
  t: Test,
  { place, script = { pieces: [chatAnswer('x')] }, config = {}, env = {} }: ClusterOptions
): Promise<Cluster> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const directory = t.testdir()
  const { url } = place.store
  writeFileSync(
    join(directory, 'headgate.yaml'),
    JSON.stringify({
      server: { shutdown_delay_ms: 1000 },
      ...url !== undefined && { store: { url: 'env:DATABASE_URL' } },
      providers: {
        openai: { base_url: `${upstream.url}/v1`, api_key: 'env:OPENAI_API_KEY', list_models: false }
      },
      models: { 'openai/gpt-5': { price: { input: 1, output: 10 } } },
      ...config
    })
  )
  return {
    place,
    start: async (name, port = 0, { env: own = {}, before } = {}) => {
      const home = url === undefined ? place.server.dataDir : join(directory, name)
      mkdirSync(home, { recursive: true })
      return await startGateway(
        t,
        directory,
        {
          PORT: String(port),
          HEADGATE_DATA_DIR: home,
          HEADGATE_API_KEYS: clusterKey,
          OPENAI_API_KEY: 'sk-mock',
          ...url !== undefined && { DATABASE_URL: url.reveal() },
          ...env,
          ...own
        },
        [],
        before
      )
    }
  }
}

export async function chat (
  url: string,
  id: string,
  { key = clusterKey, body = {}, agent = undefined as Agent | undefined } = {}
) {
  const { statusCode, body: answer } = await request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': id },
    body: JSON.stringify({ model: 'openai/gpt-5', messages: 'hi', ...body }),
    ...agent !== undefined && { dispatcher: agent }
  })
  return { status: statusCode, body: await answer.json() as Record<string, unknown> }
}

export interface Callers {
  /** Ids of the calls whose answer was received completely. */
  readonly succeeded: string[]
  /** The other calls, each with its status or error. */
  readonly failures: string[]
  /** Ends the load, once the calls in flight have ended. */
  readonly stop: () => Promise<void>
}

/**
 * Calls repeatedly, several at a time, over connections that stay open.
 * @param url of the next call; calls wait while there is none
 */
export function startCallers (
  t: Test,
  url: () => string | undefined,
  { parallel = 4, keepAlive = true, key = clusterKey, body: sent = {}, name = '' } = {}
): Callers {
  const succeeded: string[] = []
  const failures: string[] = []
  const agent = new Agent({ connections: parallel, pipelining: keepAlive ? 1 : 0 })
  const ending = new AbortController()
  t.teardown(async () => {
    ending.abort()
    if (failures.length > 0) t.comment(`${failures.length} failed: ${failures.slice(0, 5).join(', ')}`)
    await agent.destroy()
  })
  let number = 0
  const call = async (caller: number): Promise<void> => {
    while (!ending.signal.aborted) {
      const target = url()
      if (target === undefined) {
        await new Promise(resolve => { setImmediate(resolve) })
        continue
      }
      const id = `call-${key.slice(0, 8)}-${name}${caller}-${number++}`
      try {
        const { status, body } = await chat(target, id, { key, body: sent, agent })
        if (status === 200) succeeded.push(id)
        else failures.push(`${id}: ${status} ${JSON.stringify(body)}`)
      } catch (error) {
        failures.push(`${id}: ${String(error)}`)
      }
    }
  }
  const callers = Promise.all(Array.from({ length: parallel }, async (_, caller) => await call(caller)))
  return {
    succeeded,
    failures,
    stop: async () => {
      ending.abort()
      await callers
    }
  }
}

/** Counts missing and surplus usage records. */
export interface RecordCount {
  /** Calls that succeeded without a record. */
  readonly missing: number
  /** Calls with two records. */
  readonly double: number
  /** True if budgets agree with the records. */
  readonly sumsAgree: boolean
}

/** Compares the usage records with the calls that succeeded. @param key whose records count. Default: all */
export async function countRecords (
  { query }: Database,
  succeeded: readonly string[],
  key?: string
): Promise<RecordCount> {
  const rows = await query
    .selectFrom('usage')
    .select(['call_id', 'cost_nano_usd'])
    .$if(key !== undefined, of => of.where('key_id', '=', key ?? ''))
    .execute()
  const recorded = new Set(rows.map(({ call_id: id }) => id))
  const { spent } = await query
    .selectFrom('spending')
    .select(({ fn }) => fn.sum<number | null>('cost_nano_usd').as('spent'))
    .$if(key !== undefined, of => of.where('key_id', '=', key ?? ''))
    .executeTakeFirstOrThrow()
  return {
    missing: succeeded.filter(id => !recorded.has(id)).length,
    double: rows.length - recorded.size,
    sumsAgree: rows.reduce((sum, { cost_nano_usd: cost }) => sum + (cost ?? 0), 0) === (spent ?? 0)
  }
}

export const nothingLost: RecordCount = { missing: 0, double: 0, sumsAgree: true }

/** Stops a gateway as an operator does. */
export async function stopNode (node: Node): Promise<void> {
  node.child.kill('SIGTERM')
  await node.ended
}

/** Returns the failing parts reported by `/health`. */
export async function degradedParts ({ url }: Node): Promise<string[]> {
  const answer = await fetch(`${url}/health`, { headers: { authorization: `Bearer ${clusterKey}` } })
  return (await answer.json() as { degraded?: string[] }).degraded ?? []
}

/** Returns the milliseconds that a promised second may take on a busy machine. */
export function secondUnderLoad (): number {
  return 1000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism())
}
