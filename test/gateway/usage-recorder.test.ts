import { copyFileSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requestOf } from '../support/limits.ts'
import { Ring, RingMember } from '../../lib/async/ring.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { createLog } from '../../lib/log/log.ts'
import { UsageRecorder } from '../../lib/gateway/usage-recorder.ts'
import { Ledger, type JournaledCall } from '../../lib/usage/ledger.ts'
import { routedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import { storeTest, type OpenStore } from '../support/stores.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Test } from 'tap'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

const services = () => ({ models: { find: () => undefined } })

async function start (t: Test, open: OpenStore) {
  const database = await open()
  const ledger = new Ledger(database, {
    log: createLog('silent'),
    retention: () => ({ keepDays: 1, keepRows: 100 }),
    everyMs: 3_600_000
  })
  t.teardown(async () => await ledger.close())
  const limiter = new LocalLimiter()
  const recorder = new UsageRecorder({ ledger, limiter, services })
  return {
    recorder,
    limiter,
    ledger,
    directory: database.directory,
    rows: async (): Promise<UsageRow[]> => {
      await ledger.flush()
      return await database.query.selectFrom('usage').selectAll().execute()
    }
  }
}

const usage = { promptTokens: 3, completionTokens: 4, totalTokens: 7 }

function call (parts: RecordParts = {}) {
  return routedCall(
    {},
    {
      record: fillRecord(
        new CallRecord('chat'),
        { caller: { keyId: 'key-1' }, end: { status: 200, outcome: 'ok' }, usage: { total: usage } },
        parts
      )
    }
  )
}

/** The record of a call whose request was just sent. */
const begun: RecordParts = {
  end: { outcome: undefined, status: undefined },
  usage: { total: undefined },
  routing: { requestCount: 1, attemptsAtWork: 1, modelId: 'openai/gpt-5' },
  request: { bodyBytes: 10 }
}

/** Returns the lines of the journals in a directory. */
function journaledLines (directory: string): string[] {
  return readdirSync(directory)
    .filter(name => name.endsWith('.jsonl'))
    .flatMap(name => readFileSync(join(directory, name), 'utf8').split('\n'))
    .filter(line => line !== '')
}

storeTest('a call is recorded before its last byte, and is one row after its end', async (t, open) => {
  const { recorder, rows } = await start(t, open)
  const ended = call()
  await recorder.journalAnswer(ended)
  recorder.end(ended)
  t.match(await rows(), [{ call_id: 'call-1', outcome: 'ok', status: 200 }])
})

storeTest('a call whose outcome changes keeps its row, corrected', async (t, open) => {
  const { recorder, rows } = await start(t, open)
  const left = call()
  await recorder.journalAnswer(left)
  fillRecord(left.record, { end: { outcome: 'client_closed', status: 499 } })
  recorder.end(left)
  t.match((await rows()).map(({ outcome, status }) => [outcome, status]), [['client_closed', 499]])
})

storeTest('the row of a call is stored only after its settlement counts', async (t, open) => {
  const database = await open()
  const limiter = new LocalLimiter()
  const seen: Array<readonly [openCalls: number, rows: number]> = []
  const stored = async (): Promise<number> =>
    (await database.query.selectFrom('usage').select('id').execute()).length
  const ledger = new Ledger(database, {
    log: createLog('silent'), retention: () => ({ keepDays: 1, keepRows: 100 }), batchRows: 1,
    beforeStored: async imported => {
      t.same(imported, [])
      seen.push([limiter.counters.open, await stored()])
    }
  })
  t.teardown(async () => await ledger.close())
  const recorder = new UsageRecorder({ ledger, limiter, services })
  const wanted = requestOf({ keyId: 'key-1', limits: { concurrentCalls: 1 }, tokens: 0, nanoUsd: 0 })
  const decision = await limiter.reserve(wanted)
  recorder.end(call({ limits: { reservation: decision.admitted ? decision.reservation : 0 } }))
  await until(async () => await stored() === 1, 'the row')
  t.same(seen, [[0, 0]])
})

storeTest('a call without a valid key leaves no row', async (t, open) => {
  const { recorder, rows } = await start(t, open)
  t.equal(recorder.journalAnswer(call({ caller: { keyId: undefined } })), undefined)
  t.equal(recorder.end(call({ caller: { keyId: undefined } })), undefined)
  t.same(await rows(), [])
})

storeTest(
  'a call sent to a provider is journaled as interrupted, and is one row after its end',
  async (t, open) => {
    const { recorder, ledger, directory, rows } = await start(t, open)
    const [text, large, image] = [
      call(begun),
      call({ ...begun, request: { bodyBytes: 1e6 } }),
      call({ ...begun, endpoint: 'images' })
    ]
    for (const each of [text, large, image, text]) recorder.journalSent(each)
    ledger.flushJournal()
    const lines = journaledLines(directory)
    const journal = readdirSync(directory).find(name => name.startsWith('journal')) ?? ''
    copyFileSync(join(directory, journal), join(directory, 'usage-of-a-kill.jsonl'))
    t.equal(lines.length, 3, 'each is there once')
    await ledger.importJournals()
    const interrupted = (await rows()).toSorted((one, other) => (one.id < other.id ? -1 : 1))
    t.match(interrupted, [
      { outcome: 'interrupted', endpoint: 'chat' },
      { outcome: 'interrupted', endpoint: 'chat' },
      { outcome: 'interrupted', endpoint: 'images' }
    ])
  }
)

storeTest(
  'a call in flight is journaled again with its usage so far, until its answer is complete',
  async (t, open) => {
    const { recorder, ledger, directory } = await start(t, open)
    const [streamed, complete, ended] = [call(begun), call(begun), call(begun)]
    const isDueLater = ({ record }: Call): boolean =>
      record.rejournalTimer instanceof RingMember && Ring.holds(record.rejournalTimer)
    const withTokens = (): string[] =>
      journaledLines(directory).filter(line => line.includes('"completion_tokens"'))
    for (const each of [streamed, complete, ended]) recorder.journalSent(each)
    t.ok([streamed, complete, ended].every(isDueLater))
    streamed.record.usage.outputCharacters = 400
    complete.record.end.outcome = 'ok'
    await recorder.journalAnswer(complete)
    recorder.end(ended)
    t.notOk(isDueLater(ended))
    await until(() => withTokens().some(line => line.includes('"interrupted"')), 'the line of one in flight')
    ledger.flushJournal()
    t.match(
      withTokens().map(line => JSON.parse(line) as unknown),
      [{ outcome: 'interrupted', completion_tokens: 100 }],
      'one, with its tokens'
    )
    t.ok(isDueLater(streamed))
    await until(() => !isDueLater(complete), 'a look at the other')
    recorder.end(streamed)
    t.notOk(isDueLater(streamed))
    recorder.journalSent(streamed)
    t.notOk(isDueLater(streamed), 'nothing is sent for a call that has ended')
  }
)

storeTest(
  'a free request is journaled if it takes long, and not after the ledger is closed',
  async (t, open) => {
    const { recorder, ledger, directory } = await start(t, open)
    const counted = call(begun)
    recorder.journalSent(counted, true)
    ledger.flushJournal()
    t.same(journaledLines(directory), [])
    await until(() => journaledLines(directory).length > 0, 'its line')
    t.match(
      journaledLines(directory).map(line => JSON.parse(line) as unknown),
      [{ 12: null, 17: null }],
      'without tokens or a price'
    )
    const late = call(begun)
    recorder.journalSent(late)
    await ledger.close()
    const left = journaledLines(directory)
    await until(
      () => late.record.rejournalTimer instanceof RingMember && !Ring.holds(late.record.rejournalTimer),
      'the end of its wait'
    )
    ledger.flushJournal()
    t.same(journaledLines(directory), left)
  }
)

storeTest('a call journaled when it was sent becomes one row with its usage', async (t, open) => {
  const { recorder, rows } = await start(t, open)
  const ended = call({ ...begun, usage: { total: usage } })
  recorder.journalSent(ended)
  const { row: { id } } = ended.record.journaled as JournaledCall // of the begun row
  ended.record.end.outcome = 'ok'
  await recorder.journalAnswer(ended)
  recorder.end(ended)
  t.match(await rows(), [{ id, outcome: 'ok', prompt_tokens: 3, completion_tokens: 4 }])
  const failed = call({ ...begun, usage: { total: usage } })
  recorder.journalSent(failed)
  failed.record.end.outcome = 'error'
  recorder.end(failed)
  t.same((await rows()).map(({ outcome }) => outcome).toSorted(), ['error', 'ok'])
})

t.test('a reservation is settled with the actual usage, whatever else fails', async t => {
  const limiter = new LocalLimiter()
  const reserve = () =>
    limiter.reserve(
      requestOf({
        keyId: 'key-1',
        limits: { tokensPerMinute: 100, requestsPerMinute: 10 },
        tokens: 50,
        nanoUsd: 0
      })
    )
  const first = await reserve()
  const plain = new UsageRecorder({ ledger: undefined, limiter, services })
  plain.end(call({
    limits: { reservation: first.admitted ? first.reservation : 0 },
    routing: { requestCount: 3, attemptsAtWork: 3 }
  }))
  t.equal(limiter.counters.open, 0)
  const second = await reserve()
  t.match(
    second.rateLimits,
    { tokens: { remaining: 43 }, requests: { remaining: 6 } },
    '7 tokens and two more requests'
  )
  const broken = new UsageRecorder({
    ledger: undefined,
    limiter,
    services: () => {
      throw new Error('broken')
    }
  })
  t.throws(() => broken.end(call({ limits: { reservation: second.admitted ? second.reservation : 0 } })), {
    message: 'broken'
  })
  t.equal(limiter.counters.open, 0)
})
