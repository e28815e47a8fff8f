/**
 * Runs at full load while PostgreSQL is down: memory, the journal, and the time until every record is
 * written.
 */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate, type Contender } from '../support/contenders.ts'
import { lanes } from '../support/lanes.ts'
import { measureLane, startLoad, startMock } from '../support/measure-lane.ts'
import { rssBytes } from '../../lib/load/process-cost.ts'
import { table } from '../support/report.ts'
import { postgresStore, sharedConfiguration, type ScaleOptions, type Servers } from './servers.ts'

const megabyte = 1024 * 1024

export async function outage (servers: Servers, { outageSeconds }: ScaleOptions): Promise<string> {
  const lane = lanes.find(({ name }) => name === 'JSON, 1 KB body, 32 callers')
  const directory = mkdtempSync(join(tmpdir(), 'headgate-outage-'))
  const { config, env } = sharedConfiguration(servers)
  const contender: Contender = headgate('shared', { config, env: { ...env, HEADGATE_DATA_DIR: directory } })
  const { upstreamPort, mock } = await startMock()
  const load = await startLoad()
  const running = await contender.start?.(upstreamPort)
  if (lane === undefined || running === undefined) throw new Error('there is no such lane')
  const database = await openDatabase(postgresStore(servers, directory))
  const written = async (): Promise<number> =>
    (
      await database.query
        .selectFrom('usage')
        .select(({ fn }) => fn.countAll<number>().as('rows'))
        .executeTakeFirstOrThrow()
    ).rows
  try {
    const run = async (durationMs: number): Promise<number> => (
      (await measureLane(load, lane, contender, running, upstreamPort, { warmUpMs: 0, durationMs })).requests
    )
    await run(5000)
    await sleep(2000)
    const [before, rowsBefore] = [rssBytes(running.pid), await written()]
    servers.stopPostgres()
    let requests = 0
    let most = before
    for (let second = 0; second < outageSeconds; second++) {
      requests += await run(1000)
      most = Math.max(most, rssBytes(running.pid))
    }
    const journalBytes = readdirSync(directory)
      .filter(name => name.endsWith('.jsonl'))
      .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
    servers.restartPostgres()
    const backMs = performance.now()
    while ((await written().catch(() => 0)) < rowsBefore + requests) {
      if (performance.now() - backMs > 60_000) {
        throw new Error(`${(await written()) - rowsBefore} of ${requests} records were written`)
      }
      await sleep(1000) // counting half a million rows slows down writing them
    }
    return table(
      `${outageSeconds} seconds without PostgreSQL at full load`,
      [
        'calls, all of which succeeded',
        'memory before, MB',
        'at most, MB',
        'journal, MB',
        'seconds until every record was written'
      ],
      [
        [
          requests.toLocaleString('en'),
          (before / megabyte).toFixed(0),
          (most / megabyte).toFixed(0),
          (journalBytes / megabyte).toFixed(0),
          ((performance.now() - backMs) / 1000).toFixed(1)
        ]
      ]
    )
  } finally {
    await running.stop()
    await Promise.all([database.close(), load.stop(), mock.stop()])
    rmSync(directory, { recursive: true, force: true })
  }
}
