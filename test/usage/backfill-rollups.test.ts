import { createLog } from '../../lib/log/log.ts'
import { backfillRollups } from '../../lib/usage/backfill-rollups.ts'
import { withoutNameSums } from '../support/earlier-store.ts'
import { storeTest } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'
import type { Database } from '../../lib/stores/database.ts'

const firstMs = Date.UTC(2025, 9, 30)

/** Keeps the process alive, as the sockets of a gateway do; the timers of the summing do not. */
function keepAlive (t: Test): void {
  const timer = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(timer))
}

function recordingLog () {
  const lines: Array<Record<string, unknown>> = []
  return {
    lines,
    log: createLog('info', {
      write: line => {
        lines.push(JSON.parse(line) as Record<string, unknown>)
      }
    })
  }
}

storeTest(
  'records of an earlier version are summed up completely, and the log shows the progress',
  async (t, open) => {
    const database = await open()
    keepAlive(t)
    const { lines, log } = recordingLog()
    await database.insertUsage(
      Array.from({ length: 500 }, (_, number) =>
        usageRowOf(number, { at_ms: firstMs + number, end_user: 'ada' })
      )
    )
    await backfillRollups(database, log, new AbortController().signal)
    t.same(lines, [], 'nothing is to be done')
    await withoutNameSums(database)
    await backfillRollups(database, log, new AbortController().signal)
    t.match(lines, [
      {
        level: 'info',
        msg: 'summing up usage records of an earlier version by end user, session and tag',
        oldest: '2025-10-30T00:00:00.000Z',
        from: /^2025-10-30T00:00:00\.\d{3}Z$/
      },
      { level: 'info', msg: 'finished summing up usage records of an earlier version' }
    ])
    t.match(await database.query.selectFrom('name_rollups').selectAll().orderBy('name').execute(), [
      { name: '', calls: 500 },
      { name: 'ada', calls: 500 }
    ])
  }
)

storeTest('a failure is logged and retried, until the gateway stops', async (t, open) => {
  const database = await open()
  keepAlive(t)
  const { lines, log } = recordingLog()
  const closing = new AbortController()
  const failing: Database = { ...database, transaction: async () => { throw new Error('the disk is full') } }
  const done = backfillRollups(failing, log, closing.signal)
  await until(() => lines.length > 0, 'the failure')
  closing.abort()
  await done
  t.match(lines, [
    { level: 'warn', msg: 'failed to sum up usage records of an earlier version; will be tried again' }
  ])
})

storeTest('nothing is summed up while gateways of the previous version may write', async (t, open) => {
  const database = await open()
  keepAlive(t)
  const { lines, log } = recordingLog()
  const closing = new AbortController()
  await database.insertUsage([usageRowOf(1, { at_ms: firstMs, end_user: 'ada' })])
  await withoutNameSums(database)
  await database.query.updateTable('rollup_backlog').set({ at_ms: database.now() + 600_000 }).execute()
  const done = backfillRollups(database, log, closing.signal)
  await until(() => lines.length > 0, 'the first line')
  t.same(await database.query.selectFrom('name_rollups').selectAll().execute(), [])
  await database.query.updateTable('rollup_backlog').set({ at_ms: firstMs + 1 }).execute()
  closing.abort()
  await done
  await backfillRollups(database, log, new AbortController().signal)
  t.match(await database.query.selectFrom('name_rollups').selectAll().orderBy('name').execute(), [
    { name: '', calls: 1 },
    { name: 'ada', calls: 1 }
  ])
})
