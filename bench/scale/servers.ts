/** Starts the engines that gateways on several machines share. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'node:net'
import { Secret } from '../../lib/core/secret.ts'
import { cores, freePort, start } from '../support/processes.ts'
import type { StoreLocation } from '../../lib/stores/database.ts'

export interface Servers {
  readonly postgresUrl: string
  readonly postgresPid: () => number
  readonly redisUrl: string
  readonly redisPid: number
  /** Kills PostgreSQL; `restartPostgres` starts it again. */
  readonly stopPostgres: () => void
  readonly restartPostgres: () => void
  readonly stop: () => Promise<void>
}

export interface ScaleOptions {
  readonly rounds: number
  readonly outageSeconds: number
}

const script = join(import.meta.dirname, '../../../.ci/postgres.sh')
/**
 * PostgreSQL's defaults where the script has other values, and the memory that a dedicated server would have.
 */
const postgresOptions = ['-c', 'fsync=on', '-c', 'shared_buffers=1GB', '-c', 'max_wal_size=4GB']

export async function startServers (): Promise<Servers> {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-scale-'))
  const postgres = (...args: readonly string[]): string =>
    execFileSync('taskset', ['-c', cores.mock.join(), script, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit']
    }).trim()
  const postgresUrl = postgres('start', directory, ...postgresOptions)
  const port = await freePort()
  const redis = await start(
    {
      file: 'redis-server',
      args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory],
      cores: cores.mock
    },
    async () => await accepts(port)
  )
  return {
    postgresUrl,
    postgresPid: () => Number(readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n', 1)[0]),
    redisUrl: `redis://127.0.0.1:${port}`,
    redisPid: redis.pid,
    stopPostgres: () => { postgres('stop', directory) },
    restartPostgres: () => { postgres('start', directory, ...postgresOptions) },
    stop: async () => {
      await redis.stop()
      postgres('stop', directory)
      rmSync(directory, { recursive: true })
    }
  }
}

/**
 * Returns the settings of a store in PostgreSQL.
 * @param dataDir directory of the journals
 */
export function postgresStore ({ postgresUrl }: Servers, dataDir: string): StoreLocation {
  return {
    server: { dataDir },
    store: {
      url: new Secret(postgresUrl),
      poolSize: 4,
      connectMs: 5000,
      statementMs: 60_000,
      keysStaleMs: 86_400_000
    }
  }
}

/** Returns the configuration entries for several machines, and their variables. */
export function sharedConfiguration ({ postgresUrl, redisUrl }: Servers) {
  return {
    config: { store: { url: 'env:DATABASE_URL' }, coordination: { url: 'env:REDIS_URL', timeout_ms: 5000 } },
    env: { DATABASE_URL: postgresUrl, REDIS_URL: redisUrl }
  }
}

async function accepts (port: number): Promise<boolean> {
  return await new Promise(resolve => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
