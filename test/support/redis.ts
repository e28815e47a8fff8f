/**
 * Starts a Redis of its own for a test, where `HEADGATE_TEST_REDIS` names the program:
 *
 * ```sh
 * HEADGATE_TEST_REDIS=redis-server npx tap --disable-coverage build/test/limits/redis-limiter.test.js
 * ```
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { RedisServer } from '../../lib/coordination/redis-server.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { Test } from 'tap'
import { settles } from './until.ts'

const program = process.env['HEADGATE_TEST_REDIS']

/** The reason why tests on Redis do not run; false where they do. */
export const noRedis = program === undefined && 'HEADGATE_TEST_REDIS is not the program of a Redis server'

export interface TestRedis {
  readonly url: string
  readonly process: () => ChildProcess
  /** Connects like a gateway. */
  readonly connect: (t: Test) => Promise<RedisServer>
  /** Ends it at once, with everything in it. */
  readonly kill: () => Promise<void>
  /** Starts it again, empty, at the same port. */
  readonly restart: () => Promise<void>
}

export async function startRedis (t: Test): Promise<TestRedis> {
  const port = await freePort()
  const directory = t.testdir()
  let child = await launch(port, directory)
  t.teardown(() => child.kill('SIGKILL'))
  const url = `redis://127.0.0.1:${port}`
  return {
    url,
    process: () => child,
    connect: async t => {
      const server = await RedisServer.connect({ url: new Secret(url), timeoutMs: 300, beatMs: 50 })
      t.teardown(async () => await server.close())
      return server
    },
    kill: async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
    restart: async () => { child = await launch(port, directory) }
  }
}

async function launch (port: number, directory: string): Promise<ChildProcess> {
  const child = spawn(program ?? '', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory], { stdio: ['ignore', 'pipe', 'ignore'] })
  await settles(new Promise<void>((resolve, reject) => {
    child.on('error', reject)
    createInterface(child.stdout).on('line', line => { if (line.includes('Ready to accept connections')) resolve() })
  }), 'Redis to start')
  return child
}

async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
