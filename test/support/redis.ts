/**
 * Starts a Redis of its own for a test, where `HEADGATE_TEST_REDIS` names the program:
 *
 * ```sh
 * HEADGATE_TEST_REDIS=redis-server npx tap --disable-coverage build/test/limits/redis-limiter.test.js
 * ```
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { RedisServer, type RedisServerOptions } from '../../lib/coordination/redis-server.ts'
import { parseRedisAddress } from '../../lib/coordination/redis-address.ts'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { settles } from './until.ts'

const program = process.env['HEADGATE_TEST_REDIS']

/** The reason why tests on Redis are skipped; false if they run. */
export const noRedis = program === undefined && 'HEADGATE_TEST_REDIS is not the program of a Redis server'

export interface TestRedis {
  readonly url: string
  readonly port: number
  readonly process: () => ChildProcess
  /** Connects like a gateway. */
  readonly connect: (t: Test, options?: Partial<RedisServerOptions>) => Promise<RedisServer>
  /** Kills it, with all its data. */
  readonly kill: () => Promise<void>
  /** Starts it again, empty, at the same port. */
  readonly restart: () => Promise<void>
}

/** @param more arguments of the program; `--tls-port` replaces the port */
export async function startRedis (t: Test, ...more: string[]): Promise<TestRedis> {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'headgate-redis-'))
  const settings = ['--bind', '127.0.0.1', '--save', '', '--dir', directory, ...more]
  const launch = async (): Promise<ChildProcess> =>
    await launchRedis(
      more.includes('--tls-cert-file')
        ? ['--port', '0', '--tls-port', String(port), ...settings]
        : ['--port', String(port), ...settings]
    )
  let child = await launch()
  t.teardown(() => {
    child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  const url = `redis://127.0.0.1:${port}`
  return {
    url,
    port,
    process: () => child,
    connect: async (t, options) => await connectTo(t, url, options),
    kill: async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
    restart: async () => { child = await launch() }
  }
}

/**
 * Connects like a gateway, with a long timeout, so that a busy machine does not make Redis count as
 * unavailable.
 */
export async function connectTo (
  t: Test,
  url: string,
  place: Partial<RedisServerOptions> = {}
): Promise<RedisServer> {
  const address = parseRedisAddress(url)
  if (address === undefined) throw new TypeError(`${url} is no address`)
  const server = await RedisServer.connect({ address, timeoutMs: 5000, beatMs: 50, ...place })
  t.teardown(async () => await server.close())
  return server
}

/** Starts the program, and resolves when it is ready: as a server, or as a Sentinel. */
async function launchRedis (settings: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program ?? '', settings, { stdio: ['ignore', 'pipe', 'ignore'] })
  await settles(
    new Promise<void>((resolve, reject) => {
      child.on('error', reject)
      createInterface(child.stdout).on('line', line => {
        if (/Ready to accept connections|Sentinel ID is/.test(line)) resolve()
      })
    }),
    'Redis to start'
  )
  return child
}

/** Starts a Sentinel that watches a server, and returns its port. It finds the others on its own. */
export async function startSentinel (t: Test, name: string, primary: number): Promise<number> {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'headgate-sentinel-'))
  const file = join(directory, 'sentinel.conf')
  writeFileSync(file, [
    `port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, `sentinel monitor ${name} 127.0.0.1 ${primary} 2`,
    `sentinel down-after-milliseconds ${name} 500`, `sentinel failover-timeout ${name} 2000`
  ].join('\n'))
  const child = await launchRedis([file, '--sentinel'])
  t.teardown(() => {
    child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  return port
}
