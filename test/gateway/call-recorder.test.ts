import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CallRecorder, type CallRecorderOptions } from '../../lib/gateway/call-recorder.ts'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { createLog } from '../../lib/log/log.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { testGateway } from '../support/gateway.ts'
import { receivedCall } from '../support/stages.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

interface Desk {
  readonly recorder: CallRecorder
  readonly database: Database
  /** Messages of the log. */
  readonly messages: unknown[]
}

async function desk (t: Test, parts: Partial<CallRecorderOptions> = {}): Promise<Desk> {
  const { gateway } = await testGateway(t)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const messages: unknown[] = []
  const log = createLog('info', { write: line => messages.push((JSON.parse(line) as { msg: string }).msg) })
  const recorder = new CallRecorder({
    keys: { check: () => undefined },
    limiter: new LocalLimiter(),
    log,
    database,
    usageDatabase: database,
    observers: [],
    services: () => gateway.services,
    ...parts
  })
  t.teardown(async () => await recorder.close())
  return { recorder, database, messages }
}

/** Stores what processes that have exited left behind. */
async function imported ({ recorder, database }: Desk, rows: readonly UsageRow[]): Promise<string[]> {
  const lines = rows.map(row => `${JSON.stringify(row)}\n`).join('')
  writeFileSync(join(database.directory, 'usage-a.jsonl'), lines)
  recorder.importJournals()
  await recorder.importing
  const stored = await database.query.selectFrom('usage').select(['id', 'outcome']).orderBy('id').execute()
  return stored.map(({ id, outcome }) => `${id} ${outcome}`)
}

t.test('an observer that throws keeps nothing from the others, the log and what waits for the record', async t => {
  const seen: string[] = []
  const { recorder, messages } = await desk(t, {
    observers: [
      () => { throw new Error('the first') },
      call => { seen.push(call.id) }
    ]
  })
  const call = receivedCall({})
  call.record.end.onRecorded = () => { seen.push('recorded') }
  recorder.end(call)
  t.same(seen, ['call-1', 'recorded'])
  t.same(messages, ['call', 'call observer failed'])
})

t.test('calls that a crash interrupted are reported, unless they have ended after all', async t => {
  const reported: string[] = []
  const place = await desk(t, { onInterrupted: rows => reported.push(...rows.map(({ id }) => id)) })
  await place.database.insertUsage([usageRowOf(1)])
  const interrupted = { outcome: 'interrupted' } as const
  t.same(
    await imported(place, [usageRowOf(1, interrupted), usageRowOf(2, interrupted), usageRowOf(3)]),
    ['row-1 ok', 'row-2 interrupted', 'row-3 ok']
  )
  t.same(reported, ['row-2'])
})

t.test('rows are stored even if their reservations cannot be settled, or the tracer fails', async t => {
  const limiter = new LocalLimiter()
  const place = await desk(t, {
    limiter: {
      reserve: (...request) => limiter.reserve(...request),
      settle: (...usage) => limiter.settle(...usage),
      settleRecorded: async () => await Promise.reject(new Error('no limiter'))
    },
    onInterrupted: () => { throw new Error('no tracer') }
  })
  t.same(await imported(place, [usageRowOf(1, { outcome: 'interrupted' })]), ['row-1 interrupted'])
  t.match(place.messages.slice(0, 2), [
    'failed to settle the reservations of a killed process; they are released later',
    'failed to look up interrupted calls; their spans are not sent'
  ])
})

t.test('the row of a detached call is in the journal at once', async t => {
  const { recorder } = await desk(t)
  const call = receivedCall({})
  call.record.caller.keyId = 'key-1'
  recorder.endDetached(call)
  t.equal(recorder.load.rowsWaiting, 1)
  await recorder.close()
  t.equal(recorder.load.rowsWaiting, 0)
})
