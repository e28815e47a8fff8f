/** A test's own PostgreSQL, which it may kill. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isProcessAlive } from '../../lib/async/is-process-alive.ts'
import { until } from './until.ts'
import type { Test } from 'tap'

export interface PostgresServer {
  readonly url: string
  /** Kills it by SIGKILL, and its connections with it. */
  readonly kill: () => Promise<void>
  /** Starts it again, at the same address. */
  readonly restart: () => void
}

const script = join(import.meta.dirname, '../../../.ci/postgres.sh')

/** Starts a server that is stopped after the test. */
export function postgresServer (t: Test): PostgresServer {
  // Not among the fixtures: PostgreSQL runs as another user, who may not read there.
  const directory = mkdtempSync(join(tmpdir(), 'headgate-postgres-'))
  const run = (action: string): string =>
    execFileSync(script, [action, directory], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    }).trim()
  const url = run('start')
  t.teardown(() => {
    run('stop')
    rmSync(directory, { recursive: true })
  })
  return {
    url,
    kill: async () => {
      const pid = Number(readFileSync(join(directory, 'data/postmaster.pid'), 'utf8').split('\n', 1)[0])
      process.kill(pid, 'SIGKILL')
      await until(() => !isProcessAlive(pid), 'PostgreSQL to end')
    },
    restart: () => { run('start') }
  }
}
