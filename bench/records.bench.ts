/**
 * Measures the cost of a call's record, step by step: usage row, journal, database and log line, for 32 calls
 * in one tick of the event loop.
 */

import { equal, match, ok } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { CallRecord } from '../lib/core/record.ts'
import { LocalLimiter } from '../lib/limits/limiter.ts'
import { createModels } from '../lib/models/create-models.ts'
import { openDatabase } from '../lib/stores/open-database.ts'
import { logCall } from '../lib/telemetry/call-log.ts'
import { createLog } from '../lib/log/log.ts'
import { rowId } from '../lib/text/ids.ts'
import { UsageRecorder } from '../lib/gateway/usage-recorder.ts'
import { Journal, printLine } from '../lib/usage/journal.ts'
import { Ledger } from '../lib/usage/ledger.ts'
import { usageRow } from '../lib/usage/usage-row.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { benchSettings } from './support/settings.ts'
import type { Call } from '../lib/core/call.ts'
import type { Retention } from '../lib/stores/database.ts'
import type { UsageRow } from '../lib/stores/tables.ts'
import type { Scenario } from './support/scenario.ts'

const callsOfTurn = 32
const batchRows = 200
const maxJournalBytes = 8 * 1024 * 1024
const settings = benchSettings()
const models = createModels(settings, new Set(['mock']))

let written = ''
const log = createLog('info', { write: line => { written = line } })

const { signal } = new AbortController()
let calls = 0

/** Returns a call of the JSON lane whose answer is complete. */
function completedCall (): Call {
  const record = new CallRecord('chat')
  record.caller.keyId = 'key_0123456789abcdef'
  record.request.bodyBytes = 1024
  record.request.requestedModel = 'mock/json'
  record.routing.modelId = 'mock/json'
  record.routing.providerId = 'mock'
  record.end.status = 200
  record.end.outcome = 'ok'
  record.request.isStreamed = false
  record.routing.requestCount = 1
  record.usage.total = {
    promptTokens: 250,
    completionTokens: 200 + calls % 50,
    totalTokens: 450 + calls % 50
  }
  record.times.firstByteMs = calls % 40
  record.times.upstreamWaitMs = 2
  return {
    id: `00000000-0000-4000-8000-${String(calls++).padStart(12, '0')}`,
    headers: {},
    params: {},
    body: async () => await Promise.resolve({}),
    signal,
    receivedAtMs: performance.now(),
    record
  }
}

function rowOf (call: Call, outcome?: UsageRow['outcome']): UsageRow {
  const row = usageRow(call, models, undefined, outcome)
  if (row === undefined) throw new Error('a call with a key has a row')
  return row
}

const sample = completedCall()
const sampleRow = rowOf(sample)
let laterMs = sampleRow.at_ms

/** Returns another row, at a rate of 7,000 calls a second. */
function laterRow (index: number): UsageRow {
  if (index % 7 === 0) laterMs++
  return Object.assign({}, sampleRow, {
    id: rowId(),
    call_id: randomUUID(),
    at_ms: laterMs,
    duration_ms: index % 40,
    completion_tokens: 200 + (index % 50)
  })
}

const begunLine = printLine(rowOf(sample, 'interrupted'))
const endLine = printLine(sampleRow)

const directory = scratchFolder('records')
const database = await openDatabase(directory)
const retention = (): Retention => ({ keepDays: 1, keepRows: 1e9 })
const ledger = new Ledger(database, { log, retention })
const recorder = recorderOf(ledger)
/** Its rows are not written during the measurement. */
const waitingLedger = new Ledger(await openDatabase(join(directory, 'waiting')), {
  log,
  retention,
  batchRows: Infinity,
  everyMs: 10 * 60_000
})
const waitingRecorder = recorderOf(waitingLedger)
const journal = new Journal(join(directory, 'lines'))

function recorderOf (of: Ledger): UsageRecorder {
  return new UsageRecorder({ ledger: of, limiter: new LocalLimiter(), services: () => ({ models }) })
}

/** Records the calls of one tick of the event loop, from start to end. */
async function recorded (by: UsageRecorder): Promise<Call[]> {
  const turn = Array.from({ length: callsOfTurn }, completedCall)
  for (const call of turn) by.journalSent(call)
  let appended: Promise<void> | undefined
  for (const call of turn) appended = by.journalAnswer(call)
  await appended // the same for all calls of a turn
  for (const call of turn) by.end(call)
  return turn
}

/** One step of one call. */
function step (name: string, run: () => unknown, check: (result: unknown) => void): Scenario {
  return { name: `records: ${name}`, per: 'call', count: 1, run, check }
}

export const scenarios: readonly Scenario[] = [
  step(
    'journal line of the beginning',
    () => printLine(rowOf(sample, 'interrupted')),
    line => match(String(line), /mock\/json/)
  ),
  step(
    'usage row',
    () => rowOf(sample),
    row => equal((row as UsageRow).prompt_tokens, 250)
  ),
  step(
    'journal line of the end',
    () => printLine(sampleRow),
    line => match(String(line), /mock\/json/)
  ),
  step(
    'log line',
    () => {
      logCall(log, sample, sampleRow, settings.server)
      return written
    },
    line => match(String(line), /"msg":"call"/)
  ),
  {
    name: 'records: journal, one turn of 32 calls, both lines',
    per: 'call',
    count: callsOfTurn,
    run: async () => {
      if (journal.size > maxJournalBytes) journal.replace([])
      for (let call = 0; call < callsOfTurn; call++) {
        void journal.append(begunLine)
        void journal.append(endLine)
      }
      await journal.append(endLine)
    },
    check: () => ok(journal.size > 0)
  },
  {
    name: 'records: database, 200 rows with their sums',
    per: 'call',
    count: batchRows,
    run: async () =>
      await database.insertUsage(Array.from({ length: batchRows }, (_, index) => laterRow(index))),
    check: inserted => equal(inserted, batchRows)
  },
  {
    name: 'records: what a turn of 32 calls waits for, with the log line, without the database',
    per: 'call',
    count: callsOfTurn,
    run: async () => {
      const turn = await recorded(waitingRecorder)
      for (const call of turn) logCall(log, call, sampleRow, settings.server)
      return waitingLedger.dropped
    },
    check: dropped => equal(dropped, 0)
  },
  {
    name: 'records: all of a turn of 32 calls, without the log line',
    per: 'call',
    count: callsOfTurn,
    run: async () => {
      await recorded(recorder)
      return ledger.dropped
    },
    check: dropped => equal(dropped, 0)
  }
]
