import {
  lstatSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { usageColumns } from '../../lib/stores/usage-columns.ts'
import type { SqliteDatabase } from '../../lib/stores/database.ts'
import { createLog } from '../../lib/log/log.ts'
import { importJournals } from '../../lib/usage/import-journals.ts'
import { isAbandoned, journalName } from '../../lib/usage/journal-name.ts'
import { Journal, printLine, readLine } from '../../lib/usage/journal.ts'
import { Ledger } from '../../lib/usage/ledger.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { directoryOf, ask, launch, main, startGateway } from '../support/headgate.ts'
import { until } from '../support/until.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream } from '../support/upstream.ts'
import { usageRowOf } from '../support/usage.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

const question = { model: 'openai/gpt-5', messages: 'hi' }

async function open (t: Test, directory: string): Promise<SqliteDatabase> {
  const database = await openDatabase(directory, { busyTimeoutMs: 0 })
  t.teardown(database.close)
  return database
}

async function countOf ({ query }: SqliteDatabase): Promise<number> {
  return (await query.selectFrom('usage').select('id').execute()).length
}

/** A gateway with a store, in front of a provider that answers. */
async function gatewayWith (
  t: Test,
  parts: Partial<GatewayOptions>,
  forAllProviders = false
): Promise<TestGateway> {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  return await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      ...forAllProviders && {
        deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
      }
    },
    {},
    parts
  )
}

async function health (api: TestGateway): Promise<unknown> {
  return await (await api.get('/health')).json()
}

t.test('a line has the columns that are not empty, and restores the row', async t => {
  const row = usageRowOf(1, {
    call_id: 'a"\\\n',
    requested_model: 'caf\u00e9 "\ud83d\ude00" \ud800',
    model: null,
    cost_nano_usd: 1e15
  })
  const line = printLine(row)
  t.notMatch(line, /"(?:model|tags)"/)
  t.same(readLine(line), row)
  for (const column of usageColumns) {
    const other = usageRowOf(1, { [column]: 7 })
    t.same(readLine(printLine(other)), other, column)
  }
})

t.test('a line that was cut off is no row', async t => {
  t.equal(readLine(printLine(usageRowOf(1)).slice(0, -1)), undefined)
})

t.test(
  'a lone line is written at once, others together at the end of the turn',
  async t => {
    const journal = new Journal(join(directoryOf(t), 'lines'))
    t.equal(journal.appendNow('a'), undefined)
    t.equal(readFileSync(journal.path, 'utf8'), 'a\n')
    const waiting = journal.append('b')
    t.equal(journal.appendNow('c'), waiting)
    t.equal(readFileSync(journal.path, 'utf8'), 'a\n')
    await waiting
    t.equal(readFileSync(journal.path, 'utf8'), 'a\nb\nc\n')
  }
)

t.test('lines of one turn are written together, and the file has what was not cleared', async t => {
  const directory = directoryOf(t)
  const journal = new Journal(join(directory, 'deep', 'lines'))
  const first = journal.append('a')
  t.equal(journal.append('b'), first, 'one write for both')
  t.equal(journal.unwritten, 2)
  await first
  t.equal(readFileSync(journal.path, 'utf8'), 'a\nb\n')
  t.equal(statSync(journal.path).mode & 0o777, 0o600)
  journal.replace(['b'])
  await journal.append('c')
  t.equal(readFileSync(journal.path, 'utf8'), 'b\nc\n')
  rmSync(journal.path)
  t.ok(journal.isDeleted())
  journal.replace(['c'])
  t.notOk(journal.isDeleted())
  journal.moveTo(`${journal.path}.moved`)
  t.equal(readFileSync(`${journal.path}.moved`, 'utf8'), 'c\n')
})

t.test(
  'a full disk delays no caller, and the lost lines are reported',
  { skip: process.platform !== 'linux' && 'no /dev/full' },
  async t => {
    const journal = new Journal('/dev/full')
    await journal.append('a')
    await journal.append('b')
    t.match(journal.error, { code: 'ENOSPC' })
    t.equal(journal.unwritten, 2)
  }
)

t.test(
  'a file that cannot be replaced completely stays unchanged, and is still written to',
  { skip: process.platform !== 'linux' && 'no /dev/full' },
  async t => {
    const journal = new Journal(join(directoryOf(t), 'journal'))
    await journal.append('old')
    symlinkSync('/dev/full', `${journal.path}.part`)
    journal.replace(['new'])
    if (!t.notOk(lstatSync(journal.path).isSymbolicLink())) return
    t.equal(readFileSync(journal.path, 'utf8'), 'old\n')
    t.match(journal.error, { code: 'ENOSPC' })
    void journal.append('next')
    journal.flush()
    t.equal(readFileSync(journal.path, 'utf8'), 'old\nnew\nnext\n')
    t.equal(journal.unwritten, 0)
  }
)

t.test('a truncated line is skipped, and of two lines of a call the second is imported', async t => {
  const directory = directoryOf(t)
  const database = await open(t, directory)
  const lines = [usageRowOf(1), usageRowOf(2), usageRowOf(1, { outcome: 'client_closed' })].map(row =>
    JSON.stringify(row)
  )
  writeFileSync(
    join(directory, 'usage-x.jsonl'),
    `${lines[0]}\n{"id":"cut\n${lines[1]}\n${lines[2]}\n{"id":`
  )
  const imported: number[] = []
  await importJournals(database, {
    onImported: (_, rows) => imported.push(rows),
    onFailure: (_, error) => t.fail(String(error))
  })
  t.same(imported, [2])
  t.same(await database.query.selectFrom('usage').select(['id', 'outcome']).orderBy('id').execute(), [
    { id: 'row-1', outcome: 'client_closed' },
    { id: 'row-2', outcome: 'ok' }
  ])
  t.same(
    readdirSync(directory).filter(name => name.endsWith('.jsonl')),
    []
  )
})

t.test('the journal of a running process is left alone', async t => {
  const directory = directoryOf(t)
  const own = journalName()
  const host = /^journal-(\w+)-/.exec(own)?.[1] ?? ''
  const named = (name: string, changed = new Date()): string => {
    const path = join(directory, name)
    writeFileSync(path, '')
    utimesSync(path, changed, changed)
    return path
  }
  t.notOk(isAbandoned(named(own)), 'of this process')
  t.notOk(isAbandoned(named(`journal-${host}-${process.ppid}-x.jsonl`)), 'of another')
  t.notOk(isAbandoned(named('journal-000000000000-1-x.jsonl')), 'of another machine, a moment ago')
  t.ok(isAbandoned(named('journal-000000000000-1-x.jsonl', new Date(0))), 'of another machine, long ago')
  t.ok(
    isAbandoned(named(`journal-${host}-${process.pid}-x.jsonl`)),
    'of an earlier process with the same id'
  )
  t.ok(isAbandoned(named(`journal-${host}-4194303-x.jsonl`)), 'of a dead one')
  t.ok(isAbandoned(named('usage-x.jsonl')), 'complete')
  t.notOk(isAbandoned(named('notes.jsonl')), 'of another program')
})

/** Returns the rows in the journals of a directory. */
function journaled (directory: string): UsageRow[] {
  const files = readdirSync(directory).filter(name => name.endsWith('.jsonl'))
  return files
    .flatMap(name => readFileSync(join(directory, name), 'utf8').split('\n'))
    .flatMap(line => readLine(line) ?? [])
}

t.test('an answer is recorded before its last byte', async t => {
  const directory = directoryOf(t)
  const database = await open(t, directory)
  const api = await gatewayWith(t, { usageDatabase: database })
  for (const stream of [false, true]) {
    const answer = await api.post('/v1/chat/completions', { ...question, stream })
    t.equal(answer.status, 200)
    await answer.text()
    const id = answer.headers.get('x-request-id') ?? ''
    const files = readdirSync(directory)
      .filter(name => name.endsWith('.jsonl'))
      .map(name => readFileSync(join(directory, name), 'utf8'))
    const rows = await database.query.selectFrom('usage').select('call_id').execute()
    t.ok(files.join('').includes(id) || rows.some(row => row.call_id === id))
  }
})

t.test('an answer is recorded before it can be fetched', async t => {
  const directory = directoryOf(t)
  /** For each statement that stored the answer: true if the journal had the row of the call. */
  const wasOnRecord: boolean[] = []
  const database = await open(t, directory)
  const query = database.query.withPlugin({
    transformQuery: ({ node }) => {
      const statement = JSON.stringify(node)
      const isAnswer =
        /^(?:Insert|Update)/.test(node.kind) &&
        statement.includes('fetched later') &&
        /\W(?:completed|stop)\W/.test(statement)
      if (isAnswer) {
        wasOnRecord.push(
          journaled(directory).some(row => row.outcome === 'ok' && row.completion_tokens === 1)
        )
      }
      return node
    },
    transformResult: async ({ result }) => result
  })
  const upstream = await fakeUpstream(({ json }) =>
    Reflect.get(Object(json), 'stream') === true
      ? { headers: eventStream, pieces: chatFrames(['fetched later']) }
      : { pieces: [chatAnswer('fetched later')] }
  )
  t.teardown(upstream.close)
  const calls: ReadonlyArray<readonly [path: string, body: object]> = [
    ['/v1/chat/completions', { ...question, deferred: true }],
    ['/v1/responses', { model: question.model, input: 'hi', background: true }],
    ['/v1/responses', { model: question.model, input: 'hi', background: true, stream: true }],
    ['/v1/responses', { model: question.model, input: 'hi' }],
    ['/v1/responses', { model: question.model, input: 'hi', stream: true }]
  ]
  for (const [path, body] of calls) {
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
      },
      {},
      { database: { ...database, query }, usageDatabase: database }
    )
    wasOnRecord.length = 0
    const reply = await api.post(path, body)
    t.equal(reply.status, 200)
    await reply.text()
    await until(() => wasOnRecord.length > 0, 'the answer in the store')
    t.notOk(wasOnRecord.includes(false), JSON.stringify(body))
    await api.gateway.close()
  }
})

t.test('kill -9 loses no call whose answer the caller has', async t => {
  const directory = directoryOf(t)
  const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }
  const first = await startGateway(t, directory, env)
  let succeeded = 0
  const caller = async (): Promise<void> => {
    for (;;) {
      const { status } = await ask(first.url, 'a-key-of-24-characters-00')
      if (status === 200) succeeded++
    }
  }
  const callers = Promise.allSettled(Array.from({ length: 8 }, caller))
  await until(() => succeeded >= 150, '150 answers', 20_000)
  first.child.kill('SIGKILL')
  await callers
  const second = await startGateway(t, directory, env)
  second.child.kill('SIGTERM')
  t.match(await second.ended, { code: 0 })
  const count = await countOf(await open(t, join(directory, '.headgate')))
  t.ok(count >= succeeded, `${count} rows of ${succeeded} answers`)
  t.ok(count <= succeeded + 8, 'and none twice')
})

t.test('kill -9 right after the last message of a stream does not lose its call', async t => {
  const message = {
    type: 'message_start',
    message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } }
  }
  const finish = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }
  const pieces = [message, finish, { type: 'message_stop' }].map(
    event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  )
  const upstream = await fakeUpstream({ headers: eventStream, pieces })
  t.teardown(upstream.close)
  const streams: ReadonlyArray<readonly [path: string, body: object, last: string]> = [
    ['/v1/chat/completions', { model: 'sandbox/echo', messages: 'hi' }, '[DONE]'],
    ['/v1/responses', { model: 'sandbox/echo', input: 'hi', store: false }, 'response.completed'],
    [
      '/v1/messages',
      { model: 'claude/m', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      'message_stop'
    ]
  ]
  const configuration = `providers: {sandbox: {}, claude: {kind: anthropic, base_url: "${upstream.url}", api_key: env:CLAUDE_KEY}}`
  const directory = directoryOf(
    t,
    Object.fromEntries(
      streams.map(([, , last], number) => [
        number,
        { 'headgate.yaml': configuration, 'kill.cjs': killAfter(last) }
      ])
    )
  )
  await Promise.all(
    streams.map(async ([path, body, last], number) => {
      const cwd = join(directory, String(number))
      const gateway = launch(
        t,
        ['start'],
        cwd,
        { PORT: '0', HEADGATE_API_KEYS: 'a-key-of-24-characters-00', CLAUDE_KEY: 'x' },
        ['--require', join(cwd, 'kill.cjs'), main]
      )
      const [, url = ''] = await gateway.line(/^Headgate listens on (\S+)$/)
      const headers = {
        authorization: 'Bearer a-key-of-24-characters-00',
        'content-type': 'application/json'
      }
      const answer = await fetch(url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...body, stream: true })
      })
      let text = ''
      try {
        for await (const piece of answer.body ?? []) text += Buffer.from(piece).toString()
      } catch {
        // The connection of a killed process.
      }
      t.ok(text.includes(last), `${path}: the caller has the last message`)
      gateway.child.kill('SIGKILL') // if the server has not done so itself
      await gateway.ended
      const id = answer.headers.get('x-request-id')
      t.match(
        journaled(join(cwd, '.headgate')).findLast(row => row.call_id === id),
        { outcome: 'ok' },
        path
      )
    })
  )
})

/** Kills its process as soon as a socket has received this text. */
function killAfter (words: string): string {
  return `
    const { prototype } = require('node:net').Socket
    for (const name of ['_write', '_writev']) {
      const write = prototype[name]
      prototype[name] = function (...given) {
        write.apply(this, given)
        const sent = Array.isArray(given[0]) ? given[0].map(({ chunk }) => String(chunk)).join('') : String(given[0])
        if (sent.includes(${JSON.stringify(words)})) process.kill(process.pid, 'SIGKILL')
      }
    }`
}

t.test('a call in flight at kill -9 is recorded as interrupted, with its details so far', async t => {
  const [head = '', ...texts] = chatFrames(['x'.repeat(400), 'y'])
  const upstream = await fakeUpstream(({ json }) =>
    Reflect.get(Object(json), 'stream') === true
      ? { headers: eventStream, pieces: [head, ...texts.slice(0, 1)], then: 'stall' }
      : { silent: true }
  )
  t.teardown(upstream.close)
  const directory = directoryOf(t, {
    'headgate.yaml': `providers: {here: {base_url: "${upstream.url}/v1"}}\nmodels: {here/m: {price: {input: 10, output: 100}}}`
  })
  const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }
  const first = await startGateway(t, directory, env)
  const calls = Promise.allSettled(
    [false, true].map(async stream => {
      const headers = {
        authorization: 'Bearer a-key-of-24-characters-00',
        'content-type': 'application/json'
      }
      const response = await fetch(`${first.url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'here/m', messages: 'four words of text '.repeat(100), stream })
      })
      return await response.text()
    })
  )
  const store = join(directory, '.headgate')
  const journal = (): string =>
    readdirSync(store)
      .filter(name => name.endsWith('.jsonl'))
      .map(name => readFileSync(join(store, name), 'utf8'))
      .join('')
  const lines = ['"streamed":0', '"completion_tokens":100']
  await until(() => lines.every(text => journal().includes(text)), 'both on record')
  first.child.kill('SIGKILL')
  await calls
  const second = await startGateway(t, directory, env)
  second.child.kill('SIGTERM')
  t.match(await second.ended, { code: 0 })
  const { query } = await open(t, store)
  const rows = await query.selectFrom('usage').selectAll().orderBy('streamed').execute()
  t.match(rows, [
    {
      outcome: 'interrupted',
      model: 'here/m',
      attempts: 1,
      streamed: 0,
      estimated: 1,
      prompt_tokens: Number,
      completion_tokens: 0,
      cost_nano_usd: Number
    },
    {
      outcome: 'interrupted',
      model: 'here/m',
      attempts: 1,
      streamed: 1,
      estimated: 1,
      prompt_tokens: Number,
      completion_tokens: 100,
      cost_nano_usd: Number
    }
  ])
  t.equal(rows.length, 2)
  t.ok(Number(rows[0]?.prompt_tokens) >= 400)
  const spent = await query.selectFrom('spending').select('cost_nano_usd').execute()
  t.equal(
    Number(spent[0]?.cost_nano_usd),
    rows.reduce((sum, { cost_nano_usd: cost }) => sum + Number(cost), 0),
    'and it counts in budgets'
  )
})

t.test('a call recorded as interrupted that then ends has one row, its final one', async t => {
  let answer = (): void => undefined
  const released = new Promise<void>(resolve => {
    answer = resolve
  })
  const upstream = await fakeUpstream(async () => {
    await released
    return { pieces: [chatAnswer('late')] }
  })
  t.teardown(upstream.close)
  const directory = directoryOf(t)
  const database = await open(t, directory)
  const api = await testGateway(
    t,
    { providers: [upstreamAt(`${upstream.url}/v1`)] },
    {},
    { usageDatabase: database }
  )
  const call = api.post('/v1/chat/completions', question)
  const journal = (): string =>
    readdirSync(directory)
      .filter(name => name.endsWith('.jsonl'))
      .map(name => readFileSync(join(directory, name), 'utf8'))
      .join('')
  await until(() => journal().includes('"interrupted"'), 'the call on record')
  answer()
  t.equal((await call).status, 200)
  await api.gateway.close()
  t.match(
    await database.query.selectFrom('usage').select(['outcome', 'completion_tokens', 'estimated']).execute(),
    [{ outcome: 'ok', completion_tokens: 1, estimated: 0 }]
  )
  t.same(journal(), '')
})

t.test('a deferred call is recorded as interrupted while it runs, and has one row in the end', async t => {
  let answer = (): void => undefined
  const released = new Promise<void>(resolve => {
    answer = resolve
  })
  const upstream = await fakeUpstream(async () => {
    await released
    return { pieces: [chatAnswer('late')] }
  })
  t.teardown(upstream.close)
  const directory = directoryOf(t)
  const database = await open(t, directory)
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
    },
    {},
    { database, usageDatabase: database }
  )
  t.equal((await api.post('/v1/chat/completions', { ...question, deferred: true })).status, 200)
  const journal = (): string =>
    readdirSync(directory)
      .filter(name => name.endsWith('.jsonl'))
      .map(name => readFileSync(join(directory, name), 'utf8'))
      .join('')
  await until(() => journal().includes('"interrupted"'), 'the call on record')
  answer()
  const outcomes = async (): Promise<string[]> =>
    (await database.query.selectFrom('usage').select('outcome').where('attempts', '>', 0).execute()).map(
      ({ outcome }) => outcome
    )
  await until(async () => (await outcomes()).length > 0, 'its row', 10_000)
  await api.gateway.close()
  t.same(await outcomes(), ['ok'])
})

t.test('a store deleted at run time is reported on /health, and no record is lost', async t => {
  const directory = directoryOf(t, { store: {} })
  const store = join(directory, 'store')
  const database = await open(t, store)
  const api = await gatewayWith(t, { usageDatabase: database, database }, true)
  t.equal((await api.post('/v1/chat/completions', question)).status, 200)
  t.same(await health(api), { status: 'ok' })
  rmSync(database.path)
  t.equal((await api.post('/v1/chat/completions', question)).status, 200)
  t.match(await health(api), { status: 'ok', degraded: ['store'] })
  const deferred = await api.post('/v1/chat/completions', { ...question, deferred: true })
  t.equal(deferred.status, 503)
  t.equal(deferred.headers.get('retry-after'), '5')
  t.match(await deferred.json(), { error: { code: 'overloaded', message: /^Deferred completions are / } })
  await api.gateway.close()
  for (const name of readdirSync(store)) if (!name.endsWith('.jsonl')) rmSync(join(store, name))

  const next = await open(t, store)
  const ledger = new Ledger(next, {
    log: createLog('silent'),
    retention: () => ({ keepDays: 90, keepRows: 1000 })
  })
  t.teardown(async () => await ledger.close())
  await ledger.importJournals()
  t.ok((await countOf(next)) >= 2, 'those that were not written before')
})

t.test(
  'a replaced store is reported on /health, and gets the unwritten rows',
  async t => {
    const store = join(directoryOf(t, { store: {} }), 'store')
    const database = await open(t, store)
    const api = await gatewayWith(t, { usageDatabase: database, database })
    for (let call = 0; call < 3; call++) await (await api.post('/v1/chat/completions', question)).text()
    // With a write-ahead log, as a program that restores a backup leaves it.
    database.copyTo(join(store, 'copy.db'))
    renameSync(join(store, 'copy.db'), database.path)
    for (let call = 0; call < 3; call++) {
      t.equal((await api.post('/v1/chat/completions', question)).status, 200)
    }
    t.match(await health(api), { status: 'ok', degraded: ['store'] })
    await api.gateway.close()
    for (const name of readdirSync(store)) if (/-(?:wal|shm)$/.test(name)) rmSync(join(store, name))

    const next = await open(t, store)
    const ledger = new Ledger(next, {
      log: createLog('silent'),
      retention: () => ({ keepDays: 90, keepRows: 1000 })
    })
    t.teardown(async () => await ledger.close())
    await ledger.importJournals()
    t.equal(await countOf(next), 6)
  }
)

t.test(
  'a damaged open store is reported on /health, and its rows wait in the journal',
  async t => {
    const store = join(directoryOf(t, { store: {} }), 'store')
    const database = await open(t, store)
    const { sql } = await import('kysely')
    const api = await gatewayWith(t, { usageDatabase: database, database })
    await (await api.post('/v1/chat/completions', question)).text()
    await until(async () => (await countOf(database)) === 1, 'the first row')
    await sql`pragma wal_checkpoint(truncate)`.execute(database.query)
    writeFileSync(database.path, Buffer.alloc(statSync(database.path).size, 0x41))
    await sql`pragma shrink_memory`.execute(database.query).catch(() => undefined)
    await until(async () => {
      t.equal((await api.post('/v1/chat/completions', question)).status, 200)
      return JSON.stringify(await health(api)).includes('"ledger"')
    }, '/health to say so')
    const calls = api.lines.filter(({ endpoint }) => endpoint === 'chat').map(({ id }) => String(id))
    const journals = readdirSync(store)
      .filter(name => name.endsWith('.jsonl'))
      .map(name => readFileSync(join(store, name), 'utf8'))
      .join('')
    t.ok(calls.length > 1)
    t.same(
      calls.slice(1).filter(id => !journals.includes(id)),
      [],
      'every call since is in the journal'
    )
  }
)

t.test('a deleted data directory is recreated with the waiting rows', async t => {
  const directory = directoryOf(t, { store: {} })
  const store = join(directory, 'store')
  const database = await open(t, store)
  const ledger = new Ledger(database, {
    log: createLog('silent'),
    retention: () => ({ keepDays: 90, keepRows: 1000 }),
    everyMs: 3_600_000
  })
  await ledger.addEndedCall(usageRowOf(1))
  rmSync(store, { recursive: true })
  await ledger.addEndedCall(usageRowOf(2))
  await ledger.close()
  const [name = ''] = readdirSync(store)
  t.match(readFileSync(join(store, name), 'utf8'), /"row-1"[^]*"row-2"/)
})

t.test(
  'with a full store calls succeed, /health reports it, and rows are written once there is space',
  async t => {
    const database = await open(t, directoryOf(t))
    const { sql } = await import('kysely')
    const api = await gatewayWith(t, { usageDatabase: database, database }, true)
    await sql`create table ballast (bytes blob)`.execute(database.query)
    await sql`pragma max_page_count = 1`.execute(database.query) // SQLite raises the limit to the file size
    // The free space of started pages holds fewer rows than there will be calls.
    await t.rejects(async () => {
      for (let row = 0; row < 10_000; row++) {
        await sql`insert into ballast values (zeroblob(2000))`.execute(database.query)
      }
    }, /full/)
    for (let call = 0; call < 100; call++) {
      const answer = await api.post('/v1/chat/completions', question)
      t.equal(answer.status, 200)
      await answer.text()
    }
    await until(async () => JSON.stringify(await health(api)).includes('"ledger"'), '/health to say so')
    t.match(
      await api.post('/v1/chat/completions', { ...question, messages: 'x'.repeat(20_000), deferred: true }),
      { status: 503 }
    )
    await sql`pragma max_page_count = 100000`.execute(database.query)
    await api.gateway.close()
    t.equal(await countOf(database), api.lines.filter(({ endpoint }) => endpoint === 'chat').length)
  }
)
