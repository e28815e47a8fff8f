import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { createLog } from '../../lib/log/log.ts'
import { Journal } from '../../lib/usage/journal.ts'
import { JournaledCall, Ledger, type LedgerOptions } from '../../lib/usage/ledger.ts'
import { usageRow } from '../../lib/usage/usage-row.ts'
import { usageTotals } from '../../lib/usage/totals.ts'
import { wavOf } from '../support/forms.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { eventually, readUntil, until } from '../support/until.ts'
import { recordedEstimate, usageRowOf } from '../support/usage.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { receivedCall } from '../support/stages.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Call } from '../../lib/core/call.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { ModelRegistry } from '../../lib/models/model-registry.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

const path = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: 'hi' }
const patient = {
  ...settings().tools,
  connectMs: 20_000,
  callMs: 20_000,
  loopMs: 20_000,
  allowedHosts: ['127.0.0.0/8']
}
const price = { input: 1, output: 10 }

async function usageDatabase (t: Test, directory = t.testdir()): Promise<Database> {
  const database = await openDatabase(directory, { busyTimeoutMs: 0 })
  t.teardown(database.close)
  return database
}

async function rowsOf ({ query }: Database): Promise<UsageRow[]> {
  return await query.selectFrom('usage').selectAll().orderBy('at_ms').execute()
}

interface Desk {
  readonly api: TestGateway
  readonly requests: SeenRequest[]
  /** Closes the gateway and reads its rows. */
  readonly close: () => Promise<UsageRow[]>
}

async function desk (
  t: Test,
  script: Script | ((request: SeenRequest, number: number) => Script | Promise<Script>),
  {
    provider = {},
    parts = {},
    keys = {}
  }: { provider?: Partial<ProviderSettings>, parts?: Partial<Settings>, keys?: Record<string, ApiKey> } = {}
): Promise<Desk> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const database = await usageDatabase(t)
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', provider)],
      models: [modelSettings('openai/gpt-5', { price }), modelSettings('openai/tool-model', { price })],
      ...parts
    },
    keys,
    { database, usageDatabase: database }
  )
  return {
    api,
    requests: upstream.requests,
    close: async () => {
      await until(() => api.lines.length > 0, 'a line in the log')
      await api.gateway.close()
      return await rowsOf(database)
    }
  }
}

t.test('probes of /health with a key are not calls', async t => {
  const { api, close } = await desk(t, { pieces: [chatAnswer('x')] })
  t.equal((await api.get('/health')).status, 200)
  await (await api.post(path, question)).text()
  await until(() => api.lines.length === 2, 'two lines in the log')
  t.strictSame(
    (await close()).map(({ endpoint }) => endpoint),
    ['chat']
  )
})

t.test('every end of a call is one row', async t => {
  const stream = { headers: eventStream, pieces: chatFrames(['some', ' text']) }
  const usage = { prompt_tokens: 3, completion_tokens: 1, estimated: 0, cost_nano_usd: 3 * 1000 + 10_000 }
  const unknown = { prompt_tokens: null, completion_tokens: null, estimated: 0 }

  /** Makes one call and compares its row. */
  const row = async (
    t: Test,
    script: Script,
    expected: object,
    body: object = question,
    headers: Record<string, string> = {}
  ): Promise<void> => {
    const { api, close } = await desk(t, script)
    await (await api.post(path, body, { headers })).text().catch(() => '')
    const rows = await close()
    t.equal(rows.length, 1)
    t.match(rows[0], {
      key_id: 'key-1',
      endpoint: 'chat',
      duration_ms: Number,
      at_ms: Number,
      call_id: api.lines[0]?.['id'],
      ...expected
    })
    t.notMatch(JSON.stringify(rows), /canary/)
  }
  await t.test(
    'ok',
    async t =>
      await row(
        t,
        { pieces: [chatAnswer('x')] },
        {
          outcome: 'ok',
          status: 200,
          model: 'openai/gpt-5',
          requested_model: 'gpt-5',
          provider: 'openai',
          attempts: 1,
          streamed: 0,
          first_byte_ms: null,
          own_provider_key: 0,
          ...usage
        },
        { model: 'gpt-5', messages: 'canary' }
      )
  )
  await t.test(
    'streamed',
    async t =>
      await row(
        t,
        stream,
        {
          outcome: 'ok',
          streamed: 1,
          first_byte_ms: Number,
          ...usage,
          completion_tokens: 2,
          cost_nano_usd: 23_000
        },
        { ...question, stream: true }
      )
  )
  await t.test(
    'a stream without usage is estimated',
    async t =>
      await row(
        t,
        { ...stream, pieces: chatFrames(['some', ' text'], { usage: false }) },
        {
          outcome: 'ok',
          completion_tokens: 3,
          estimated: 1
        },
        { ...question, stream: true }
      )
  )
  await t.test(
    'a stream that breaks off',
    async t =>
      await row(
        t,
        { ...stream, pieces: stream.pieces.slice(0, 3), then: 'fin' },
        {
          outcome: 'error',
          status: 200,
          error_code: 'upstream_stream_interrupted',
          completion_tokens: 3,
          estimated: 1
        },
        { ...question, stream: true }
      )
  )
  await t.test(
    'an error of the provider',
    async t =>
      await row(
        t,
        { status: 500, pieces: ['{}'] },
        {
          outcome: 'error',
          status: 502,
          error_code: 'upstream_error',
          attempts: 1,
          cost_nano_usd: 0,
          ...unknown
        }
      )
  )
  await t.test(
    'a refusal before the provider',
    async t =>
      await row(
        t,
        {},
        {
          outcome: 'error',
          status: 404,
          error_code: 'model_not_found',
          attempts: 0,
          cost_nano_usd: 0,
          model: null,
          provider: null,
          ...unknown
        },
        { ...question, model: 'missing/x' }
      )
  )
  await t.test(
    'a request of the wrong shape',
    async t =>
      await row(
        t,
        {},
        {
          outcome: 'error',
          status: 422,
          error_code: 'invalid_value',
          attempts: 0,
          requested_model: null
        },
        { messages: 5 }
      )
  )
  await t.test(
    'a model without a price',
    async t =>
      await row(
        t,
        { pieces: [chatAnswer('x')] },
        {
          outcome: 'ok',
          prompt_tokens: 3,
          cost_nano_usd: null
        },
        { ...question, model: 'openai/unheard-of' }
      )
  )
  await t.test('a free model, in any billing unit', async t => {
    const parts = { models: [modelSettings('openai/tts-1', { price: { input: 0, output: 0 } })] }
    const { api, close } = await desk(
      t,
      { headers: { 'content-type': 'audio/mpeg' }, pieces: [Buffer.from('sound')] },
      { parts }
    )
    await (
      await api.post('/v1/audio/speech', { model: 'openai/tts-1', input: 'Hello', voice: 'alloy' })
    ).text()
    t.match(await close(), [{ outcome: 'ok', characters: 5, prompt_tokens: null, cost_nano_usd: 0 }])
  })
  await t.test(
    "the caller's own provider key",
    async t =>
      await row(
        t,
        { pieces: [chatAnswer('x')] },
        {
          outcome: 'ok',
          prompt_tokens: 3,
          own_provider_key: 1,
          cost_nano_usd: 0
        },
        question,
        { 'x-provider-key': 'mine' }
      )
  )
})

t.test('a caller who disconnects leaves a row with what is known of the answer', async t => {
  const { api, requests, close } = await desk(t, {
    headers: eventStream,
    pieces: chatFrames(['some', ' text']).slice(0, 3),
    then: 'stall'
  })
  const leaving = new AbortController()
  const answer = await api.post(path, { ...question, stream: true }, { signal: leaving.signal })
  await readUntil(answer.body?.getReader(), ' text')
  leaving.abort()
  await requests[0]?.aborted
  t.match(await close(), [
    {
      outcome: 'client_closed',
      error_code: 'client_closed_request',
      status: 499,
      completion_tokens: 3,
      estimated: 1
    }
  ])
})

/** A stream that waits for `go` after its first word; the rest comes at once, or piece by piece. */
function gatedPieces (atOnce = true): { readonly pieces: AsyncIterable<string>, readonly go: () => void } {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const [head = '', first = '', ...rest] = chatFrames(['a', 'b'])
  const pieces = (async function* () {
    yield head + first
    await opened
    for (const piece of atOnce ? [rest.join('')] : rest) {
      yield piece
      await new Promise(resolve => {
        setImmediate(resolve)
      })
    }
  })()
  return { pieces, go: () => go() }
}

t.test('usage is exact if the answer is read on after its caller disconnected', async t => {
  const { pieces, go } = gatedPieces()
  const { api, close } = await desk(
    t,
    { headers: eventStream, pieces },
    { provider: { onDisconnect: 'drain' } }
  )
  const leaving = new AbortController()
  const answer = await api.post(path, { ...question, stream: true }, { signal: leaving.signal })
  await answer.body?.getReader().read()
  leaving.abort()
  await until(() => api.gateway.services.abandonedAnswers.size === 1, 'one abandoned answer')
  go()
  t.match(await close(), [
    { outcome: 'client_closed', prompt_tokens: 3, completion_tokens: 2, estimated: 0, cost_nano_usd: 23_000 }
  ])
})

t.test("a call without a valid key leaves no row, one beyond the key's rights does", async t => {
  const { api, close } = await desk(
    t,
    {},
    { keys: { narrow: { id: 'key-2', name: 'narrow', endpoints: ['embeddings'] } } }
  )
  t.equal((await api.post(path, question, { headers: { authorization: 'Bearer wrong' } })).status, 401)
  t.equal((await api.post(path, question, { headers: { authorization: 'Bearer narrow' } })).status, 403)
  t.equal((await api.get('/livez')).status, 200)
  t.match(await close(), [{ key_id: 'key-2', status: 403, error_code: 'insufficient_permissions' }])
})

t.test('the turns of a tool loop are one row with their sum', async t => {
  const server = await startToolServer(t)
  const calls = (name: string): string =>
    JSON.stringify({
      id: 'x',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name, arguments: '{"message":"x"}' } }
            ]
          },
          finish_reason: 'tool_calls'
        }
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    })
  const { api, close } = await desk(
    t,
    (_, number) => ({ pieces: [number === 0 ? calls('echo') : chatAnswer('done')] }),
    {
      parts: { tools: patient }
    }
  )
  t.equal((await api.post(path, { ...question, mcp_servers: [server.url] })).status, 200)
  t.match(await close(), [
    {
      outcome: 'ok',
      attempts: 2,
      turns: 2,
      prompt_tokens: 13,
      completion_tokens: 6,
      estimated: 0,
      cost_nano_usd: 73_000
    }
  ])
})

/** A streamed turn of 10 and 5 tokens that calls a tool. */
function callingTurn (): Script {
  const call = {
    index: 0,
    delta: {
      tool_calls: [
        { index: 0, id: 'c', type: 'function', function: { name: 'echo', arguments: '{"message":"x"}' } }
      ]
    }
  }
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const chunks = [
    { choices: [call] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    { choices: [], usage }
  ]
  return {
    headers: eventStream,
    pieces: [
      ...chunks.map(chunk => `data: ${JSON.stringify({ id: 'x', ...chunk })}\n\n`),
      'data: [DONE]\n\n'
    ]
  }
}

t.test(
  'a loop whose caller disconnects is charged for the current turn, read on, and the earlier ones',
  async t => {
    const server = await startToolServer(t)
    for (const atOnce of [true, false]) {
      await t.test(atOnce ? 'at once' : 'piece by piece', async t => {
        const { pieces, go } = gatedPieces(atOnce)
        const { api, close } = await desk(
          t,
          (_, number) => (number === 0 ? callingTurn() : { headers: eventStream, pieces }),
          {
            provider: { onDisconnect: 'drain' },
            parts: { tools: patient }
          }
        )
        const leaving = new AbortController()
        const { body } = await api.post(
          path,
          { ...question, stream: true, mcp_servers: [server.url] },
          { signal: leaving.signal }
        )
        await readUntil(body?.getReader(), '"content":"a"')
        leaving.abort()
        await until(() => api.gateway.services.abandonedAnswers.size === 1, 'one abandoned answer')
        go()
        t.match(await close(), [
          { outcome: 'client_closed', turns: 2, prompt_tokens: 13, completion_tokens: 7, estimated: 0 }
        ])
      })
    }
  }
)

t.test(
  'a loop that breaks off is charged for earlier turns, and an estimate of the broken one',
  async t => {
    const server = await startToolServer(t)
    const { api, close } = await desk(
      t,
      (_, number) =>
        number === 0
          ? callingTurn()
          : { headers: eventStream, pieces: chatFrames(['text']).slice(0, 2), then: 'fin' },
      {
        parts: { tools: patient }
      }
    )
    await (
      await api.post(path, {
        ...question,
        messages: 'x'.repeat(4000),
        stream: true,
        mcp_servers: [server.url]
      })
    ).text()
    const [row] = await close()
    t.match(row, { outcome: 'error', turns: 2, completion_tokens: 6, estimated: 1 })
    t.ok(Number(row?.prompt_tokens) > 1000, `${row?.prompt_tokens}`)
    t.match(
      api.lines[0],
      { usage: { prompt: row?.prompt_tokens, completion: 6, estimated: true } },
      'the log says the same'
    )
  }
)

t.test('audio, images, vectors and documents are counted in their own unit', async t => {
  const image = JSON.stringify({ created: 1, data: [{ b64_json: 'AA==' }, { b64_json: 'AA==' }] })
  const { api, close } = await desk(t, ({ path }) => {
    if (path.endsWith('/speech')) {
      return { headers: { 'content-type': 'audio/mpeg' }, pieces: [Buffer.from('sound')] }
    }
    if (path.endsWith('/transcriptions')) {
      return { pieces: ['{"text":"hello","usage":{"type":"duration","seconds":2}}'] }
    }
    if (path.endsWith('/generations')) return { pieces: [image] }
    if (path.endsWith('/embeddings')) {
      return {
        pieces: ['{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":4,"total_tokens":4}}']
      }
    }
    return { pieces: ['{"pages":[{"index":0,"markdown":"x"}],"model":"m"}'] }
  })
  const form = new FormData()
  form.append('model', 'openai/whisper-1')
  form.append('file', new Blob([new Uint8Array(wavOf(0.1))]), 'talk.wav')
  const headers = { authorization: `Bearer ${testKey}` }
  const answers = [
    await api.post('/v1/audio/speech', { model: 'openai/tts-1', input: 'Hello', voice: 'alloy' }),
    await fetch(`${api.url}/v1/audio/transcriptions`, { method: 'POST', body: form, headers }),
    await api.post('/v1/images/generations', { model: 'openai/dall-e-2', prompt: 'x', n: 2 }),
    await api.post('/v1/embeddings', { model: 'openai/text-embedding-3-small', input: 'x' })
  ]
  for (const answer of answers) {
    t.equal(answer.status, 200)
    await answer.text()
  }
  t.match(
    (await close()).toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1)),
    [
      { endpoint: 'embeddings', prompt_tokens: 4, completion_tokens: 0, cost_nano_usd: 80 },
      { endpoint: 'images', images: 2, cost_nano_usd: 40_000_000 },
      { endpoint: 'speech', characters: 5, prompt_tokens: null, cost_nano_usd: 75_000 },
      { endpoint: 'transcriptions', audio_ms: 2000, prompt_tokens: null, cost_nano_usd: 200_000 }
    ]
  )
})

t.test('a deferred answer is charged once: not for its receipt, nor for another fetch', async t => {
  const { api, close } = await desk(
    t,
    { pieces: [chatAnswer('later')] },
    {
      parts: {
        deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
      }
    }
  )
  const receipt = (await (await api.post(path, { ...question, deferred: true })).json()) as {
    request_id: string
  }
  const fetched = async (): Promise<number> =>
    (await api.get(`/v1/chat/deferred-completion/${receipt.request_id}`)).status
  await until(async () => (await fetched()) === 200, 'the deferred completion')
  const rows = await close()
  const paid = rows.filter(({ cost_nano_usd: cost }) => cost !== 0)
  t.match(paid, [{ attempts: 1, prompt_tokens: 3, cost_nano_usd: 13_000 }])
  t.ok(rows.length >= 3)
})

t.test(
  "a provider's deferred answer is charged, not its receipt or pending responses",
  async t => {
    let ready = false
    const upstream = await fakeUpstream(({ method }) => {
      if (method === 'POST') return { pieces: ['{"request_id":"f15c114e-f47d"}'] }
      return ready ? { pieces: [chatAnswer('later')] } : { status: 202 }
    })
    t.teardown(upstream.close)
    const database = await usageDatabase(t)
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(upstream.url, 'xai', 'xai')],
        deferred: { forAllProviders: false, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
      },
      {},
      { database, usageDatabase: database }
    )
    const { request_id: id } = (await (
      await api.post(path, { model: 'xai/grok-4.3', messages: 'hi', deferred: true })
    ).json()) as { request_id: string }
    t.equal((await api.get(`/v1/chat/deferred-completion/${id}`)).status, 202)
    ready = true
    for (let time = 0; time < 2; time++) {
      t.equal((await api.get(`/v1/chat/deferred-completion/${id}`)).status, 200)
    }
    await until(() => api.lines.length === 4, 'four lines in the log')
    await api.gateway.close()
    const unknown = { prompt_tokens: null, estimated: 0, cost_nano_usd: 0 }
    t.match(await rowsOf(database), [
      unknown,
      unknown,
      { prompt_tokens: 3, completion_tokens: 1, cost_nano_usd: 6250 },
      unknown
    ])
  }
)

/** An ended call, as passed to the ledger. */
function ended (parts: RecordParts = {}): Call {
  return receivedCall({
    id: 'req_same',
    record: fillRecord(new CallRecord('chat'), { caller: { keyId: 'key-1' }, end: { outcome: 'ok' } }, parts)
  })
}

function note (kept: Ledger, call: Call, models: Pick<ModelRegistry, 'find'>): void {
  const row = usageRow(call, models)
  if (row !== undefined) void kept.addEndedCall(row)
}

const noModels = { find: (): ModelEntry | undefined => undefined }

async function ledger (t: Test, directory = t.testdir(), options: Partial<LedgerOptions> = {}) {
  const database = await usageDatabase(t, directory)
  const lines: Array<Record<string, unknown>> = []
  const log = createLog('info', {
    write: line => {
      lines.push(JSON.parse(line) as Record<string, unknown>)
    }
  })
  const keep = { keepDays: 90, keepRows: 1_000_000 }
  const made = new Ledger(database, { log, retention: () => keep, everyMs: 3_600_000, ...options })
  t.teardown(async () => await made.close())
  return { database, lines, ledger: made }
}

/** Holds the write lock until it is released. */
async function lock (t: Test, directory: string): Promise<() => void> {
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const { query } = database
  const connection = await query.startTransaction().execute()
  await connection.deleteFrom('secrets').execute()
  return () => {
    void connection.rollback().execute()
  }
}

t.test('rows wait while the database is locked, and none is lost up to the memory limit', async t => {
  const directory = t.testdir()
  const { database, lines, ledger: kept } = await ledger(t, directory, { maxWaiting: 120 })
  const unlock = await lock(t, directory)
  for (let number = 0; number < 130; number++) note(kept, ended(), noModels)
  await kept.flush()
  t.equal(kept.degraded, false, 'another process may be writing')
  for (let attempt = 0; attempt < 10; attempt++) await kept.flush()
  t.equal(kept.degraded, true)
  t.equal(lines.filter(({ msg }) => /ledger unavailable/.test(String(msg))).length, 1, 'once')
  t.equal(kept.waiting, 130)
  unlock()
  await kept.flush()
  t.equal(kept.degraded, false)
  t.ok(lines.some(({ msg, lost }) => msg === 'usage ledger available again' && lost === 0))
  await until(() => lines.some(({ rows }) => rows === 10), 'those that only the journal had to be imported')
  t.equal(kept.dropped, 0)
  t.equal((await rowsOf(database)).length, 130)
})

t.test('rows unwritten at exit are in a file, which the next start imports once', async t => {
  const directory = t.testdir()
  const first = await ledger(t, directory)
  const unlock = await lock(t, directory)
  for (let number = 0; number < 60; number++) note(first.ledger, ended({
    caller: { keyId: 'key-2' }
  }), noModels)
  await first.ledger.close()
  const files = (): string[] => readdirSync(directory).filter(name => name.endsWith('.jsonl'))
  t.equal(files().length, 1)
  // As if a process had died between importing and deleting it.
  copyFileSync(join(directory, files()[0] ?? ''), join(directory, 'usage-again.jsonl'))
  unlock()
  const second = await ledger(t, directory)
  const third = await ledger(t, directory)
  await Promise.all([second.ledger.importJournals(), third.ledger.importJournals()])
  t.equal((await rowsOf(second.database)).length, 60)
  t.same(files(), [])
})

t.test('a call still open at exit is recorded as interrupted after the next start', async t => {
  const record = fillRecord(new CallRecord('chat'), {
    caller: { keyId: 'key-1' }, routing: { modelId: 'openai/gpt-5' }
  })
  const begun = usageRow(receivedCall({ record }), noModels, undefined, 'interrupted')
  if (begun === undefined) return t.fail('a call with a key has a row')
  const open = [usageRowOf(1, { outcome: 'interrupted', completion_tokens: 7 }), begun]
  for (const isLocked of [false, true]) {
    await t.test(
      isLocked ? 'in a file with the rows that cannot be written' : 'in a file of its own',
      async t => {
        const directory = t.testdir()
        const first = await ledger(t, directory)
        for (const row of open) void first.ledger.journalOpenCall(new JournaledCall(row))
        await first.ledger.addEndedCall(usageRowOf(2))
        const unlock = isLocked ? await lock(t, directory) : undefined
        if (isLocked) {
          for (const name of readdirSync(directory)) {
            if (name.startsWith('journal-')) rmSync(join(directory, name))
          }
        }
        await first.ledger.close()
        t.match(first.lines.at(-1), { msg: /unwritten usage rows saved to a file/, rows: isLocked ? 3 : 2 })
        unlock?.()
        const second = await ledger(t, directory)
        await second.ledger.importJournals()
        t.match(
          await second.database.query
            .selectFrom('usage')
            .select(['id', 'outcome', 'completion_tokens'])
            .orderBy('id')
            .execute(),
          [
            { id: 'row-1', outcome: 'interrupted', completion_tokens: 7 },
            { id: 'row-2', outcome: 'ok' },
            { id: begun.id, outcome: 'interrupted' }
          ].toSorted((a, b) => (a.id < b.id ? -1 : 1))
        )
        t.same(
          readdirSync(directory).filter(name => name.endsWith('.jsonl')),
          []
        )
      }
    )
  }
})

t.test(
  'a gateway serves while earlier records are imported; only calls with a budget wait for them',
  async t => {
    const earlier = usageRowOf(1, { at_ms: Date.now() - 1000, key_id: 'limited', cost_nano_usd: 1e9 })
    const directory = t.testdir({ 'usage-earlier.jsonl': `${JSON.stringify(earlier)}\n` })
    const database = await usageDatabase(t, directory)
    let go = (): void => undefined
    const mayStore = new Promise<void>(resolve => {
      go = resolve
    })
    const slow: Database = {
      ...database,
      insertUsage: async rows => {
        if (rows.some(({ id }) => id === earlier.id)) await mayStore
        return await database.insertUsage(rows)
      }
    }
    const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
    t.teardown(upstream.close)
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai')],
        models: [modelSettings('openai/gpt-5', { price })]
      },
      {
        free: { id: 'free', name: 'free', limits: { requestsPerMinute: 5 } },
        limited: { id: 'limited', name: 'limited', limits: { budget: { usd: 1, per: 'total' } } }
      },
      { database, usageDatabase: slow }
    )
    const asked = (key: string) => api.post(path, question, { headers: { authorization: `Bearer ${key}` } })
    let isDecided = false
    const limited = asked('limited').finally(() => {
      isDecided = true
    })
    t.equal((await asked('free')).status, 200)
    t.equal(isDecided, false)
    go()
    t.equal((await limited).status, 402, 'the earlier process had used it up')
  }
)

t.test(
  'an import interrupted by a shutdown leaves the file to the next start, which stores each row once',
  async t => {
    const rows = Array.from({ length: 1000 }, (_, number) => usageRowOf(number))
    const directory = t.testdir({
      'usage-earlier.jsonl': rows.map(row => `${JSON.stringify(row)}\n`).join('')
    })
    const database = await usageDatabase(t, directory)
    const first = new Ledger(
      {
        ...database,
        insertUsage: async some => {
          void first.close()
          return await database.insertUsage(some)
        }
      },
      { log: createLog('silent'), retention: () => ({ keepDays: 1e4, keepRows: 1e6 }) }
    )
    await first.importJournals()
    t.equal((await rowsOf(database)).length, 200, 'the batch that was being written')
    const { ledger: second } = await ledger(t, directory)
    await second.importJournals()
    t.equal((await rowsOf(database)).length, 1000)
    t.same(
      readdirSync(directory).filter(name => name.endsWith('.jsonl')),
      []
    )
  }
)

t.test('an unreadable file is left alone and reported', async t => {
  const directory = t.testdir({ 'usage-broken.jsonl': {} })
  const { ledger: kept, lines } = await ledger(t, directory)
  await kept.importJournals()
  t.match(lines.at(-1), { msg: /could not be imported/ })
})

t.test('an unwritable database is reported on /health, and calls continue', async t => {
  const directory = t.testdir()
  const database = await usageDatabase(t, directory)
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(
    t,
    { providers: [upstreamAt(`${upstream.url}/v1`)] },
    {},
    { usageDatabase: database }
  )
  await database.query.schema.alterTable('usage').renameTo('usage_gone').execute()
  t.same(await (await api.get('/health')).json(), { status: 'ok' })
  const health = await eventually(
    async () => {
      await (await api.post(path, question)).text()
      return await (await api.get('/health')).json()
    },
    answer => Reflect.has(Object(answer), 'degraded'),
    'a degraded part'
  )
  t.same(health, { status: 'ok', degraded: ['ledger'] })
  await database.query.schema.alterTable('usage_gone').renameTo('usage').execute()
  await api.gateway.close()
  t.equal((await rowsOf(database)).length, api.lines.filter(({ endpoint }) => endpoint === 'chat').length)
})

t.test('several processes write to one file', async t => {
  const directory = t.testdir()
  const writers = await Promise.all([1, 2, 3].map(async () => await ledger(t, directory)))
  for (let number = 0; number < 200; number++) {
    for (const { ledger } of writers) note(ledger, ended(), noModels)
  }
  await Promise.all(writers.map(async ({ ledger }) => await ledger.close()))
  t.equal((await rowsOf(await usageDatabase(t, directory))).length, 600)
})

t.test('an impossible count is stored as unknown, and all others remain readable', async t => {
  const { database, ledger: kept } = await ledger(t)
  const priced: Pick<ModelRegistry, 'find'> = { find: () => ({ price }) as ModelEntry }
  for (const tokens of [NaN, Infinity, -5, 2 ** 53, 1e300, 3e12]) {
    for (const [promptTokens, completionTokens] of [
      [tokens, 1],
      [1, tokens]
    ] as const) {
      const usage = {
        promptTokens,
        completionTokens,
        totalTokens: tokens,
        cachedTokens: tokens,
        reasoningTokens: tokens
      }
      const record = {
        routing: { requestCount: 1, attemptsAtWork: 1, modelId: 'openai/gpt-5' },
        usage: {
          total: usage,
          outputCharacters: 8,
          estimate: recordedEstimate({ countPrompt: () => 5 })
        }
      }
      note(kept, ended(record), priced)
    }
  }
  note(
    kept,
    ended({
      routing: { requestCount: 1, attemptsAtWork: 1, modelId: 'openai/gpt-5' },
      usage: { total: { promptTokens: 1.4, completionTokens: 2, totalTokens: 3 } }
    }),
    priced
  )
  await kept.flush()
  const rows = await rowsOf(database)
  const estimated = rows.filter(row => row.estimated === 1)
  t.same([rows.length, estimated.length], [13, 12])
  for (const row of estimated) {
    t.match(row, {
      prompt_tokens: 5,
      completion_tokens: 2,
      estimated: 1,
      cached_tokens: null,
      reasoning_tokens: null,
      pages: null,
      audio_ms: null,
      cost_nano_usd: 25_000
    })
  }
  t.match((await usageTotals(database.query, 0, ['key'])).totals, [
    { sums: { calls: 13, prompt_tokens: 61, cost_nano_usd: 12 * 25_000 + 21_400 } }
  ])
})

t.test('rows that cannot be stored anywhere are counted', async t => {
  const directory = t.testdir()
  const { lines, ledger: kept, database } = await ledger(t, directory)
  await database.query.schema.dropTable('usage').execute()
  rmSync(directory, { recursive: true })
  writeFileSync(directory, '')
  note(kept, ended(), noModels)
  note(kept, ended(), noModels)
  await kept.close()
  t.match(lines.at(-1), { msg: 'usage rows lost', rows: 2 })
  rmSync(directory)
})

t.test('while nothing can be written, memory holds only the maximum of waiting rows', async t => {
  const directory = t.testdir()
  const { ledger: kept, database } = await ledger(t, directory, { maxWaiting: 2 })
  await database.query.schema.dropTable('usage').execute()
  rmSync(directory, { recursive: true })
  writeFileSync(directory, '')
  for (let number = 0; number < 10; number++) {
    const row = usageRow(ended(), noModels)
    if (row === undefined) return t.fail('a call with a key has a row')
    const open = new JournaledCall(row)
    await kept.journalOpenCall(open)
    await kept.addEndedCall(row, open)
  }
  t.equal(kept.dropped, 8)
  rmSync(directory)
  mkdirSync(directory)
  kept.flushJournal()
  const [name = ''] = readdirSync(directory)
  t.equal(readFileSync(join(directory, name), 'utf8').trim().split('\n').length, 2)
})

t.test('the end of an outage is logged with the rows that were lost in it', async t => {
  const directory = t.testdir()
  const journals = join(directory, 'journals')
  const database = await usageDatabase(t, directory)
  let isUp = true
  const lost: unknown[] = []
  const log = createLog('warn', {
    write: line => {
      const entry = JSON.parse(line) as { msg: string, lost?: number }
      if (entry.msg === 'usage ledger available again') lost.push(entry.lost)
    }
  })
  const kept = new Ledger({
    ...database,
    directory: journals,
    insertUsage: async rows => {
      if (!isUp) throw new Error('down')
      return await database.insertUsage(rows)
    }
  }, { log, retention: () => ({ keepDays: 90, keepRows: 1_000_000 }), everyMs: 3_600_000, maxWaiting: 2 })
  t.teardown(async () => await kept.close())
  for (const rows of [5, 4, 2]) {
    isUp = false
    writeFileSync(journals, '')
    for (let row = 0; row < rows; row++) {
      note(kept, ended(), noModels)
      kept.flushJournal()
    }
    for (let attempt = 0; attempt < 10; attempt++) await kept.flush()
    isUp = true
    rmSync(journals)
    mkdirSync(journals)
    kept.flushJournal()
    await kept.flush()
    rmSync(journals, { recursive: true })
  }
  t.strictSame(lost, [3, 2, 0])
  t.equal(kept.dropped, 5)
})

t.test('an open call whose line the journal did not take is not considered journaled', async t => {
  const directory = t.testdir()
  const { ledger: kept, database } = await ledger(t, directory, { maxWaiting: 1 })
  await database.query.schema.dropTable('usage').execute()
  rmSync(directory, { recursive: true })
  writeFileSync(directory, '')
  const row = usageRowOf(1, { outcome: 'ok' })
  const open = new JournaledCall({ ...row, outcome: 'interrupted' })
  await kept.journalOpenCall(open)
  await kept.addEndedCall(usageRowOf(2))
  open.row = row
  t.equal(kept.journalOpenCall(open), undefined, 'it has no place')
  rmSync(directory)
  mkdirSync(directory)
  kept.flushJournal()
  await kept.addEndedCall(row, open)
  kept.flushJournal()
  const [name = ''] = readdirSync(directory)
  const lines = readFileSync(join(directory, name), 'utf8').trim().split('\n')
  t.match(
    lines.map(line => /"(ok|interrupted)"/.exec(line)?.[1]),
    ['interrupted', 'ok', 'ok']
  )
})

t.test('rows in the journal only stay there while it cannot be moved', async t => {
  const directory = t.testdir()
  const { database, lines, ledger: kept } = await ledger(t, directory, { maxWaiting: 2, everyMs: 3_600_000 })
  const journal = (): string[] => readdirSync(directory).filter(name => name.endsWith('.jsonl'))
  for (let number = 0; number < 5; number++) await kept.addEndedCall(usageRowOf(number))
  t.equal(kept.waiting, 5)
  const move = t.intercept(Journal.prototype, 'moveTo', {
    value: () => {
      throw new Error('no room')
    },
    configurable: true
  })
  await kept.flush()
  await kept.addEndedCall(usageRowOf(5))
  await kept.flush()
  t.equal(lines.filter(({ msg }) => /left in the journal/.test(String(msg))).length, 1)
  t.ok(kept.waiting > 0)
  t.match(
    journal()
      .map(name => readFileSync(join(directory, name), 'utf8'))
      .join(''),
    /"row-4"/
  )
  move.restore()
  await kept.flush()
  await until(async () => (await rowsOf(database)).length === 6, 'all rows')
  await until(() => journal().length === 0, 'no journal')
  t.equal(kept.waiting, 0)
})

t.test(
  'the last row counts for a call that is open while the journal is imported',
  async t => {
    const directory = t.testdir()
    const { database, ledger: kept } = await ledger(t, directory, { maxWaiting: 1, everyMs: 3_600_000 })
    const [late, soon] = [new JournaledCall(usageRowOf(1)), new JournaledCall(usageRowOf(4))]
    await kept.journalOpenCall(late)
    await kept.journalOpenCall(soon)
    await kept.addEndedCall(usageRowOf(2))
    await kept.addEndedCall(usageRowOf(3))
    await kept.flush()
    const end = { outcome: 'client_closed', cost_nano_usd: 70 } as const
    await kept.addEndedCall(usageRowOf(4, end), soon) // before its journal is read
    await until(async () => (await rowsOf(database)).length === 2, 'the rows of the calls that have ended')
    await kept.addEndedCall(usageRowOf(1, end), late)
    await kept.flush()
    await until(async () => (await rowsOf(database)).length === 4, 'all rows')
    t.match(await database.query.selectFrom('usage').select(['id', 'outcome']).orderBy('id').execute(), [
      { id: 'row-1', outcome: 'client_closed' },
      { id: 'row-2' },
      { id: 'row-3' },
      { id: 'row-4', outcome: 'client_closed' }
    ])
  }
)

t.test('a call that another process recorded as interrupted gets its final row', async t => {
  const directory = t.testdir()
  const { database, ledger: kept } = await ledger(t, directory)
  const { ledger: other } = await ledger(t, directory)
  const begun = usageRowOf(1, {
    outcome: 'interrupted',
    status: null,
    cost_nano_usd: 10_000,
    duration_ms: 0
  })
  const open = new JournaledCall(begun)
  await kept.journalOpenCall(open)
  const journal = readdirSync(directory).find(name => name.startsWith('journal-')) ?? ''
  // this process was suspended for a long time
  copyFileSync(join(directory, journal), join(directory, 'usage-copy.jsonl'))
  await other.importJournals()
  t.match(await rowsOf(database), [{ outcome: 'interrupted' }])
  await kept.addEndedCall(usageRowOf(1, { cost_nano_usd: 5_000_000 }), open)
  await kept.flush()
  t.match(await rowsOf(database), [{ outcome: 'ok', cost_nano_usd: 5_000_000 }])
  t.match(await database.query.selectFrom('spending').selectAll().execute(), [{ cost_nano_usd: 5_000_000 }])
})

t.test('rows that arrive after a slow write are written too', async t => {
  const database = await usageDatabase(t)
  let begun = 0
  let release = (): void => undefined
  const released = new Promise<void>(resolve => { release = resolve })
  const slow: Database = {
    ...database,
    insertUsage: async rows => {
      if (begun++ === 0) await released
      return await database.insertUsage(rows)
    }
  }
  const retention = () => ({ keepDays: 90, keepRows: 1_000_000 })
  const made = new Ledger(slow, { log: createLog('silent'), retention, everyMs: 5 })
  t.teardown(async () => { await made.close() })
  void made.addEndedCall(usageRowOf(1))
  await until(() => begun === 1, 'the first write')
  void made.addEndedCall(usageRowOf(2))
  const atMs = performance.now() + 50
  await until(() => performance.now() > atMs, 'the time of the next write')
  release()
  await until(async () => (await rowsOf(database)).length === 2, 'both rows')
  void made.addEndedCall(usageRowOf(3))
  await until(async () => (await rowsOf(database)).length === 3, 'the row after them')
})
