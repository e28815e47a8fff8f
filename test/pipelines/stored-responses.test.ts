import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import {
  chatAnswer,
  chatFrames,
  completionOf,
  eventStream,
  fakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { chatUpstreamAt, testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { directoryOf, startGateway } from '../support/headgate.ts'
import { openaiFrames, openaiResponse, openaiScript } from '../support/openai-responses.ts'
import { streamEvents } from '../support/responses.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { eventually, until } from '../support/until.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const otherKey = 'another key'
const model = 'openai/gpt-5'

interface Place {
  readonly api: TestGateway
  readonly client: OpenAI
  readonly database: Database
  /** The messages of each request that the provider received. */
  readonly histories: () => unknown[]
}

async function gateway (
  t: Test,
  database: Database,
  url: string,
  parts: Partial<Settings> = {}
): Promise<Pick<Place, 'api' | 'client'>> {
  const api = await testGateway(
    t,
    { providers: [chatUpstreamAt(`${url}/v1`)], ...parts },
    { [otherKey]: { id: 'key-2', name: 'other' } },
    { database }
  )
  return { api, client: new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 }) }
}

async function start (
  t: Test,
  script: Script | ((request: SeenRequest, number: number) => Script | Promise<Script>) = (_, number) => ({
    pieces: [chatAnswer(`answer ${number + 1}`)]
  }),
  parts: Partial<Settings> = {}
): Promise<Place & { readonly url: string }> {
  const provider = await fakeUpstream(script)
  t.teardown(provider.close)
  const database = await openDatabase(directoryOf(t))
  t.teardown(database.close)
  return {
    ...(await gateway(t, database, provider.url, parts)),
    url: provider.url,
    database,
    histories: () => provider.requests.map(({ json }) => Reflect.get(Object(json), 'messages') as unknown)
  }
}

const user = (content: string) => ({ role: 'user', content })
const storedUser = (text: string) => user([{ type: 'text', text }] as never)
const assistant = (text: string) => ({ role: 'assistant', content: [{ type: 'text', text }] })

t.test(
  'a response is stored, complete or streamed, until it is deleted, and other keys never see it',
  async t => {
    const { api, client } = await start(t)
    const complete = await client.responses.create({
      model,
      input: 'Hello',
      tools: [
        {
          type: 'mcp',
          server_label: 'a',
          server_url: 'https://a.example',
          authorization: 'canary',
          require_approval: 'never'
        }
      ],
      tool_choice: 'none'
    })
    t.equal(Reflect.get(complete, 'store'), true)
    const { output_text: _, _request_id: _id, ...shown } = complete
    t.strictSame(await (await api.get(`/v1/responses/${complete.id}`)).json(), shown)
    t.notMatch(JSON.stringify(await (await api.get(`/v1/responses/${complete.id}`)).json()), 'canary')

    const events = streamEvents(
      await (await api.post('/v1/responses', { model, input: 'Hello', stream: true })).text()
    )
    const last = events.at(-1) as unknown as { type: string, response: { id: string } }
    t.equal(last.type, 'response.completed')
    t.strictSame(await (await api.get(`/v1/responses/${last.response.id}`)).json(), last.response)

    for (const path of [
      `/v1/responses/${complete.id}`,
      `/v1/responses/${complete.id}/input_items`,
      '/v1/responses/resp_unknown'
    ]) {
      const refused = await api.get(path, { headers: { authorization: `Bearer ${otherKey}` } })
      t.equal(refused.status, 404)
      t.match(await refused.json(), {
        error: { type: 'invalid_request_error', code: null, param: 'response_id', message: /not found/ }
      })
    }
    t.equal(
      (
        await api.get(`/v1/responses/${complete.id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${otherKey}` }
        })
      ).status,
      404
    )
    t.strictSame(await (await api.get(`/v1/responses/${complete.id}`, { method: 'DELETE' })).json(), {
      id: complete.id,
      object: 'response',
      deleted: true
    })
    t.equal((await api.get(`/v1/responses/${complete.id}`, { method: 'DELETE' })).status, 404)
    await t.rejects(client.responses.retrieve(complete.id), { message: /^404 / })
  }
)

t.test('nothing is stored with store: false, or if so configured', async t => {
  const { database, client, api } = await start(t)
  const response = await client.responses.create({ model, input: 'Hello', store: false })
  t.equal(Reflect.get(response, 'store'), false)
  await t.rejects(client.responses.retrieve(response.id), { message: /^404 / })
  const refused = await api.post('/v1/responses', {
    model,
    input: 'More',
    previous_response_id: response.id
  })
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    error: {
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      type: 'invalid_request_error',
      message: `Previous response with id '${response.id}' not found.`
    }
  })
  const off = await start(t, undefined, { responses: { store: false, keepMs: 1000, maxBytesPerKey: 1024 } })
  t.equal(Reflect.get(await off.client.responses.create({ model, input: 'Hello' }), 'store'), false)
  t.strictSame(await database.query.selectFrom('responses').select('id').execute(), [])
})

t.test(
  'a conversation continues from response to response, across restarts, without earlier instructions',
  async t => {
    const { client, database, url, histories } = await start(t)
    const first = await client.responses.create({ model, input: 'one', instructions: 'Be brief.' })
    const second = await client.responses.create({
      model,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'two' }] }],
      previous_response_id: first.id
    })
    t.equal(second.previous_response_id, first.id)
    const restarted = await gateway(t, database, url)
    await restarted.client.responses.create({
      model,
      input: 'three',
      previous_response_id: second.id,
      instructions: 'Be long.'
    })
    t.match(histories().at(-1), [
      { role: 'system', content: 'Be long.' },
      storedUser('one'),
      assistant('answer 1'),
      storedUser('two'),
      assistant('answer 2'),
      user('three')
    ])
    const other = await restarted.api.post(
      '/v1/responses',
      { model, input: 'x', previous_response_id: second.id },
      { headers: { authorization: `Bearer ${otherKey}` } }
    )
    t.equal(other.status, 400)
    t.match(await other.json(), { error: { code: 'previous_response_not_found' } })
  }
)

t.test('a deleted response remains part of conversations that continue it', async t => {
  const { client, histories, database } = await start(t)
  const first = await client.responses.create({ model, input: 'one' })
  const second = await client.responses.create({ model, input: 'two', previous_response_id: first.id })
  await client.responses.delete(first.id)
  await t.rejects(client.responses.create({ model, input: 'x', previous_response_id: first.id }), {
    message: /^400 /
  })
  await client.responses.create({ model, input: 'three', previous_response_id: second.id, store: false })
  t.match(histories().at(-1), [
    storedUser('one'),
    assistant('answer 1'),
    storedUser('two'),
    assistant('answer 2'),
    user('three')
  ])
  await client.responses.delete(second.id)
  t.strictSame(
    await database.query.selectFrom('responses').select('id').execute(),
    [],
    'nothing is left once nothing goes on from it'
  )
  t.strictSame(await database.query.selectFrom('response_items').select('item_id').execute(), [])
})

t.test('a response is not stored if the one it continues is deleted before its end', async t => {
  const { client } = await start(t, async (_, number) => {
    if (number === 1) await client.responses.delete(first.id)
    return { pieces: [chatAnswer(`answer ${number + 1}`)] }
  })
  const first = await client.responses.create({ model, input: 'one' })
  const second = await client.responses.create({ model, input: 'two', previous_response_id: first.id })
  t.match(second, { status: 'completed', store: false, output: [{ content: [{ text: 'answer 2' }] }] })
  await t.rejects(client.responses.retrieve(second.id), { message: /^404 / })
})

t.test('input items are listed in pages, with those of the previous conversation', async t => {
  const { api, client } = await start(t)
  const first = await client.responses.create({
    model,
    input: [user('a') as never, { role: 'developer', content: 'b' }]
  })
  const second = await client.responses.create({ model, input: 'c', previous_response_id: first.id })
  const texts = (list: { data: unknown[] }): string[] =>
    list.data.map(item => {
      const [part] = Reflect.get(Object(item), 'content') as Array<{ text: string }>
      return part?.text ?? ''
    })
  const page = await client.responses.inputItems.list(second.id)
  t.strictSame(texts(page), ['c', 'answer 1', 'b', 'a'])
  t.match(page.data.at(-1), {
    id: /^msg_[0-9a-f]{32}$/,
    type: 'message',
    role: 'user',
    status: 'completed',
    content: [{ type: 'input_text', text: 'a' }]
  })
  const all: unknown[] = []
  for await (const item of client.responses.inputItems.list(second.id, { order: 'asc', limit: 1 })) {
    all.push(item)
  }
  t.strictSame(texts({ data: all }), ['a', 'b', 'answer 1', 'c'])
  t.match(await (await api.get(`/v1/responses/${second.id}/input_items?limit=2`)).json(), {
    object: 'list',
    has_more: true,
    first_id: page.data[0]?.id,
    last_id: page.data[1]?.id
  })
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'order=up', 'after=nothing']) {
    const refused = await api.get(`/v1/responses/${second.id}/input_items?${query}`)
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { param: query.split('=')[0], code: 'invalid_value' } })
  }
})

t.test('an item reference stands for the stored item; an unknown one is refused', async t => {
  const { api, client, histories } = await start(t)
  const first = await client.responses.create({ model, input: 'one' })
  const [item] = first.output
  await client.responses.create({
    model,
    input: [
      user('one') as never,
      { type: 'item_reference', id: item?.id ?? '' },
      { id: item?.id } as never,
      user('two') as never
    ]
  })
  t.match(histories().at(-1), [
    user('one'),
    { role: 'assistant', content: [{ text: 'answer 1' }, { text: 'answer 1' }] },
    user('two')
  ])
  for (const headers of [{}, { authorization: `Bearer ${otherKey}` }]) {
    const id = 'authorization' in headers ? item?.id : 'msg_unknown'
    const refused = await api.post(
      '/v1/responses',
      { model, input: [{ type: 'item_reference', id }] },
      { headers }
    )
    t.equal(refused.status, 400)
    t.match(await refused.json(), {
      error: { message: `Item with id '${id}' not found.`, param: 'input', type: 'invalid_request_error' }
    })
  }
})

t.test(
  'a failed response can be fetched but not continued; an unwritable store does not fail the answer',
  async t => {
    const { api, client, database } = await start(t, {
      pieces: ['data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'],
      headers: { 'content-type': 'text/event-stream' },
      then: 'fin'
    })
    const last = streamEvents(
      await (await api.post('/v1/responses', { model, input: 'x', stream: true })).text()
    ).at(-1) as unknown as { response: { id: string } }
    t.match(await (await api.get(`/v1/responses/${last.response.id}`)).json(), {
      status: 'failed',
      error: { code: 'server_error' }
    })
    await t.rejects(client.responses.create({ model, input: 'x', previous_response_id: last.response.id }), {
      code: 'previous_response_not_found'
    })

    const good = await start(t)
    await good.database.query.schema.dropTable('responses').execute()
    t.equal(Reflect.get(await good.client.responses.create({ model, input: 'x' }), 'store'), false)
    t.equal((await good.api.get('/v1/responses/resp_1')).status, 503)
    await database.query.selectFrom('responses').select('id').execute()
  }
)

t.test('a caller who disconnects before the end leaves nothing behind', async t => {
  const { api, database } = await start(t, {
    pieces: ['data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'],
    headers: { 'content-type': 'text/event-stream' },
    then: 'stall'
  })
  const response = await api.post('/v1/responses', { model, input: 'x', stream: true })
  await response.body?.cancel()
  await api.gateway.close()
  t.strictSame(await database.query.selectFrom('responses').select('id').execute(), [])
})

async function ended (client: OpenAI, id: string): Promise<OpenAI.Responses.Response> {
  return await eventually(
    async () => await client.responses.retrieve(id),
    ({ status }) => status !== 'queued' && status !== 'in_progress',
    'the end of the response'
  )
}

/**
 * Starts a background stream, and disconnects once it has text.
 * @returns its id, and the events received
 */
async function leaveStream (
  post: TestGateway['post']
): Promise<{ readonly id: string, readonly seen: string }> {
  const response = await post('/v1/responses', { model, input: 'x', background: true, stream: true })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let seen = ''
  while (!/output_text\.delta.*\n\n$/s.test(seen)) seen += (await reader?.read())?.value ?? ''
  await reader?.cancel()
  const { id } = Reflect.get(Object(streamEvents(seen)[0]), 'response') as { id: string } // ours
  return { id, seen }
}

const frames = (texts: readonly string[]): Script => ({
  headers: eventStream,
  pieces: chatFrames([...texts])
})

t.test('a background response is queued at once, fetched later, and continued', async t => {
  const { client, histories } = await start(t)
  const queued = await client.responses.create({ model, input: 'one', background: true })
  t.match(queued, { status: 'queued', background: true, store: true, output: [], usage: null })
  const done = await ended(client, queued.id)
  t.match(done, {
    id: queued.id,
    created_at: queued.created_at,
    status: 'completed',
    background: true,
    output: [{ content: [{ text: 'answer 1' }] }],
    usage: { total_tokens: 4 }
  })
  await client.responses.create({ model, input: 'two', previous_response_id: queued.id, store: false })
  t.match(histories().at(-1), [storedUser('one'), assistant('answer 1'), user('two')])
  t.match(
    await client.responses.cancel(queued.id),
    { status: 'completed' },
    'one that has ended stays as it is'
  )
  const foreground = await client.responses.create({ model, input: 'three' })
  await t.rejects(client.responses.cancel(foreground.id), { code: 'invalid_value', param: 'response_id' })
})

t.test('a background response holds the memory of its call until it has ended', async t => {
  const { limits } = settings()
  const { api, client } = await start(t, { silent: true }, {
    limits: { ...limits, bodyMemoryBytes: 500_000 }
  })
  const input = 'a'.repeat(100_000) // counts twice
  const ask = async (): Promise<Response> =>
    await api.post('/v1/responses', { model, input, background: true })
  const first = (await (await ask()).json()) as Answer
  const refused = await ask()
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error: { message: /out of memory/ } })
  await client.responses.cancel(first.id)
  await until(async () => (await ask()).status === 200, 'memory of the cancelled response')
})

t.test("a background response with a caller's provider key costs nothing", async t => {
  const provider = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(provider.close)
  const directory = directoryOf(t)
  const [database, usageDatabase] = [
    await openDatabase(directory),
    await openDatabase(directory, { busyTimeoutMs: 0 })
  ]
  t.teardown(database.close)
  t.teardown(usageDatabase.close)
  const api = await testGateway(
    t,
    {
      providers: [chatUpstreamAt(`${provider.url}/v1`)],
      models: [modelSettings(model, { price: { input: 1, output: 10 } })]
    },
    { limited: { id: 'key-3', name: 'limited', limits: { budget: { usd: 1e-9, per: 'day' } } } },
    { database, usageDatabase }
  )
  const headers = { authorization: 'Bearer limited', 'x-provider-key': 'mine' }
  const { id } = (await (
    await api.post('/v1/responses', { model, input: 'x', background: true }, { headers })
  ).json()) as { id: string }
  const read = async (): Promise<unknown> => await (await api.get(`/v1/responses/${id}`, { headers })).json()
  t.match(
    await eventually(
      read,
      response => !/queued|in_progress/.test(String(Reflect.get(Object(response), 'status'))),
      'the response'
    ),
    { status: 'completed' }
  )
  await api.gateway.close()
  t.match(await usageDatabase.query.selectFrom('usage').selectAll().where('attempts', '=', 1).execute(), [
    { own_provider_key: 1, cost_nano_usd: 0, completion_tokens: 1 }
  ])
})

t.test('a call whose body is too large for the store is served but not stored', async t => {
  const { api, database } = await start(t, undefined, {
    limits: { ...settings().limits, storedBodyBytes: 300_000 },
    deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 100_000_000 }
  })
  const url = `data:image/png;base64,${'A'.repeat(300_000)}`
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }]
  const response = (await (await api.post('/v1/responses', { model, input })).json()) as { id: string }
  t.match(response, { status: 'completed', store: false })
  t.equal((await api.get(`/v1/responses/${response.id}`)).status, 404)
  const background = await api.post('/v1/responses', { model, input, background: true })
  t.equal(background.status, 413)
  t.match(await background.json(), {
    error: { code: 'file_too_large', param: 'background', message: /0\.3 MB/ }
  })
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  const deferred = await api.post('/v1/chat/completions', { model, messages, deferred: true })
  t.match(
    await deferred.json(),
    { request_id: undefined, choices: [{ message: { content: 'answer 2' } }] },
    'at once'
  )
  t.same(await database.query.selectFrom('responses').select('id').execute(), [])
  t.same(await database.query.selectFrom('deferred').select('id').execute(), [])
})

t.test(
  'an answer too large for the store is given to a waiting caller, and fails in the background',
  async t => {
    const { api, client } = await start(
      t,
      { pieces: [chatAnswer('long '.repeat(30_000))] },
      { limits: { ...settings().limits, storedBodyBytes: 100_000 } }
    )
    const shown = await client.responses.create({ model, input: 'x' })
    t.match(shown, { status: 'completed', store: false, output: [{ content: [{ text: /long/ }] }] })
    t.equal((await api.get(`/v1/responses/${shown.id}`)).status, 404)
    const failed = await ended(
      client,
      (await client.responses.create({ model, input: 'x', background: true })).id
    )
    t.match(failed, {
      status: 'failed',
      error: { code: 'invalid_prompt', message: /larger than 0\.1 MB/ },
      output: []
    })
    t.match(
      api.lines.filter(({ error }) => error === 'file_too_large'),
      [{ status: 413, outcome: 'error', usage: { completion: 1 } }]
    )
  }
)

t.test(
  'a background stream too large for the store ends there, and its text so far can be read',
  async t => {
    const text = 'x'.repeat(30_000)
    const { api } = await start(t, frames(Array.from({ length: 100 }, () => text)), {
      limits: { ...settings().limits, storedBodyBytes: 100_000 },
      responses: { ...settings().responses, maxBytesPerKey: 10_000_000 }
    })
    const seen = streamEvents(
      await (await api.post('/v1/responses', { model, input: 'x', background: true, stream: true })).text()
    )
    t.match(seen.at(-1), {
      type: 'response.failed',
      response: { error: { message: /stream is larger than 1\.5 MB/ } }
    })
    seen.forEach(({ sequence_number: number }, index) => t.equal(number, index))
    const { id } = Reflect.get(Object(seen[0]), 'response') as { id: string }
    const again = streamEvents(await (await api.get(`/v1/responses/${id}?stream=true`)).text())
    t.strictSame(
      again.map(({ type }) => type),
      seen.map(({ type }) => type)
    )
    t.ok(seen.filter(({ type }) => type === 'response.output_text.delta').length > 40)
  }
)

t.test('a background stream can be resumed where it was left', async t => {
  const { api, client, database } = await start(t, frames(['Hel', 'lo ', 'there']))
  const first = await (
    await api.post('/v1/responses', { model, input: 'x', background: true, stream: true })
  ).text()
  const events = streamEvents(first)
  t.match(events.map(({ type }) => type).slice(0, 3), [
    'response.created',
    'response.queued',
    'response.in_progress'
  ])
  events.forEach(({ sequence_number: number }, index) => t.equal(number, index))
  t.equal(events.at(-1)?.type, 'response.completed')
  const { id } = Reflect.get(Object(events[0]), 'response') as { id: string }
  t.equal(await (await api.get(`/v1/responses/${id}?stream=true`)).text(), first)
  const rest = streamEvents(await (await api.get(`/v1/responses/${id}?stream=true&starting_after=4`)).text())
  t.strictSame(rest, events.slice(5))
  const taken = client.responses.stream({ response_id: id, starting_after: 2 })
  t.match((await taken.finalResponse()).output, [{ content: [{ text: 'Hello there' }] }])
  await database.query.updateTable('responses').set({ size_bytes: 1e12 }).where('id', '=', id).execute()
  t.equal((await api.get(`/v1/responses/${id}`)).status, 413, 'there is no memory for the complete response')
  t.equal(await (await api.get(`/v1/responses/${id}?stream=true`)).text(), first, 'a stream needs none')
  for (const query of ['stream=maybe', 'stream=true&starting_after=x']) {
    t.equal((await api.get(`/v1/responses/${id}?${query}`)).status, 400)
  }
  t.equal((await api.get('/v1/responses/resp_none?stream=true')).status, 404)
  const plain = await client.responses.create({ model, input: 'x', store: true, stream: true })
  for await (const event of plain) {
    if (event.type === 'response.completed') {
      t.equal((await api.get(`/v1/responses/${event.response.id}?stream=true`)).status, 400)
    }
  }
})

t.test('disconnecting does not end a background stream; cancelling does', async t => {
  const { api, client } = await start(t, {
    ...frames(['Hel', 'lo']),
    pieces: chatFrames(['Hel', 'lo']).slice(0, 2),
    then: 'stall'
  })
  const { id } = await leaveStream(api.post)
  t.equal((await client.responses.retrieve(id)).status, 'in_progress')
  t.equal(
    (await api.post(`/v1/responses/${id}/cancel`, '', { headers: { authorization: `Bearer ${otherKey}` } }))
      .status,
    404
  )
  t.match(await client.responses.cancel(id), { id, status: 'cancelled' })
  t.match(await client.responses.cancel(id), { status: 'cancelled' })
  const events = streamEvents(await (await api.get(`/v1/responses/${id}?stream=true`)).text())
  events.forEach(({ sequence_number: number }, index) => t.equal(number, index))
  t.match(events.at(-1), { type: 'response.failed', response: { status: 'cancelled' } })
})

t.test('a background failure ends the response, with or without a stream', async t => {
  const { api, client } = await start(t, {
    status: 400,
    pieces: ['{"error":{"message":"no","type":"invalid_request_error","code":null,"param":null}}']
  })
  const failed = await ended(
    client,
    (await client.responses.create({ model, input: 'x', background: true })).id
  )
  t.match(failed, { status: 'failed', error: { code: 'invalid_prompt' } })
  await t.rejects(client.responses.create({ model, input: 'x', previous_response_id: failed.id }), {
    code: 'previous_response_not_found'
  })
  const events = streamEvents(
    await (await api.post('/v1/responses', { model, input: 'x', background: true, stream: true })).text()
  )
  t.match(
    events.map(({ type }) => type),
    ['response.created', 'response.queued', 'response.failed']
  )
  t.match(events.at(-1), { sequence_number: 2 })
  const refused = await api.post('/v1/responses', { model, input: 'x', background: true, store: false })
  t.equal(refused.status, 400)
  t.match(await refused.json(), { error: { param: 'background' } })
})

t.test('a background answer refused by a guard ends as filtered content does', async t => {
  const { client } = await start(t, { pieces: [chatAnswer('in Zanzibar')] }, {
    guards: [
      {
        name: 'islands',
        use: 'pattern',
        at: ['answer'],
        action: 'refuse',
        patterns: [{ name: 'island', match: 'Zanzibar', maxLength: 8 }]
      }
    ]
  })
  t.match(
    await ended(client, (await client.responses.create({ model, input: 'x', background: true })).id),
    {
      status: 'failed',
      error: { code: 'invalid_prompt' },
      incomplete_details: { reason: 'content_filter' }
    }
  )
})

t.test('work that lost its process ends as failed, and its text so far can be read', async t => {
  const { api, client, database } = await start(t, {
    ...frames(['Hel', 'lo']),
    pieces: chatFrames(['Hel', 'lo']).slice(0, 2),
    then: 'stall'
  })
  const { id } = await leaveStream(api.post)
  await database.query
    .updateTable('responses')
    .set({ owner: 'dead', lease_until_ms: 1 })
    .where('id', '=', id)
    .execute()
  const store = api.gateway.services.responseStore
  await store?.failOrphans(Date.now(), { code: 'server_error', message: 'gone' })
  t.match(await client.responses.retrieve(id), { status: 'failed', error: { code: 'server_error' } })
  await api.gateway.close()
  t.match(
    await store?.find('key-1', id),
    { status: 'failed', error: { message: 'gone' } },
    'its process, which lives after all, changes nothing any more'
  )
})

const withTools: Partial<Settings> = {
  tools: {
    ...settings().tools,
    connectMs: 10_000,
    callMs: 10_000,
    loopMs: 20_000,
    allowedHosts: ['127.0.0.1']
  }
}

/** An answer that calls `echo` with each of these messages. */
function callsEcho (...said: readonly string[]): Script {
  const calls = said.map((message, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name: 'echo', arguments: JSON.stringify({ message }) }
  }))
  return { pieces: [completionOf({ content: null, tool_calls: calls }, { finishReason: 'tool_calls' })] }
}

t.test('a call of an MCP tool waits for approval, which covers that call only', async t => {
  const server = await startToolServer(t)
  const { api, histories } = await start(
    t,
    ({ text }) => (text.includes('"role":"tool"') ? { pieces: [chatAnswer('done')] } : callsEcho('hi')),
    withTools
  )
  const tools = [
    { type: 'mcp', server_label: 'mine', server_url: server.url, allowed_tools: ['echo', 'fail'] }
  ]
  const ask = async (body: object): Promise<Answer> =>
    (await (await api.post('/v1/responses', { model, tools, ...body })).json()) as Answer

  const first = await ask({ input: 'Use echo.' })
  t.match(first, {
    status: 'completed',
    output: [
      {
        type: 'mcp_list_tools',
        server_label: 'mine',
        tools: [{ name: 'echo', input_schema: { type: 'object' } }, { name: 'fail' }]
      },
      {
        type: 'mcp_approval_request',
        id: /^mcpr_[0-9a-f]{32}$/,
        server_label: 'mine',
        name: 'echo',
        arguments: '{"message":"hi"}'
      }
    ]
  })
  t.equal(first.output.length, 2)
  t.equal(server.counts['tools/call'], undefined, 'nothing is run')
  const request = first.output[1]
  const consent = { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true }

  const second = await ask({ previous_response_id: first.id, input: [consent] })
  t.match(
    second.output,
    [
      {
        type: 'mcp_call',
        server_label: 'mine',
        name: 'echo',
        arguments: '{"message":"hi"}',
        status: 'completed',
        approval_request_id: request?.['id']
      },
      { type: 'message', content: [{ text: 'done' }] }
    ],
    'the list is not repeated'
  )
  t.equal(server.counts['tools/call'], 1)
  const repeated = await ask({
    previous_response_id: first.id,
    input: [request, consent, consent],
    store: false
  })
  t.strictSame(
    repeated.output.map(({ type }) => type),
    ['mcp_call', 'message'],
    'a request that is sent again is the same'
  )
  t.equal(server.counts['tools/call'], 2)
  t.match(histories().at(-1), [
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ function: { name: 'echo' } }] },
    { role: 'tool', content: /hi/ }
  ])
  const third = await ask({ previous_response_id: second.id, input: 'Thanks' })
  t.match(third.output, [{ type: 'message' }])
  t.equal(server.counts['tools/call'], 2, 'a consent counts once')

  const again = await ask({ input: 'Use echo.' })
  const granted = { ...consent, approval_request_id: again.output[1]?.['id'] }
  const last = await ask({ previous_response_id: again.id, input: [granted], tool_choice: 'none' })
  t.match(
    last.output,
    [{ type: 'mcp_call', status: 'completed' }, { type: 'message' }],
    'what was consented to is run also where no new call may be made'
  )
  t.equal(server.counts['tools/call'], 3)

  const replayed = [{ role: 'user', content: 'Use echo.' }, ...first.output]
  const denied = await ask({
    store: false,
    input: [...replayed, { ...consent, approve: false, reason: 'Too risky.' }]
  })
  t.match(denied.output, [{ type: 'message' }])
  t.match(histories().at(-1), [
    {},
    {},
    { role: 'tool', content: 'The user did not approve this call. Too risky.' }
  ])
  const changed = { ...request, arguments: '{"message":"other"}' }
  for (const body of [
    { input: [{ role: 'user', content: 'x' }, changed, consent] },
    { input: [...replayed, consent], tools: [{ ...tools[0], server_url: 'https://elsewhere.example' }] },
    { input: [...replayed, { ...consent, approval_request_id: 'mcpr_none' }] }
  ]) {
    const refused = await api.post('/v1/responses', { model, tools, ...body })
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { type: 'invalid_request_error', param: 'input' } })
  }
  t.equal(server.counts['tools/call'], 3)

  const rules = [{ never: { tool_names: ['echo'] } }, 'never'].map(rule => [
    { ...tools[0], require_approval: rule }
  ])
  for (const free of rules) {
    t.match((await ask({ input: 'Use echo.', tools: free })).output, [
      { type: 'mcp_list_tools' },
      { type: 'mcp_call', status: 'completed' },
      { type: 'message' }
    ])
  }
})

t.test(
  'MCP tool calls are replayed under their offered names, or a legal name if not offered',
  async t => {
    const long = `files.${'x'.repeat(80)}`
    const server = await startToolServer(t, {
      lies: {
        'tools/list': {
          tools: ['files.read', long].map(name => ({ name, inputSchema: { type: 'object' } }))
        }
      }
    })
    const offered = ({ json }: SeenRequest): string[] =>
      (
        json as { readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }> }
      ).tools?.map(tool => tool.function.name) ?? []
    const { api, histories } = await start(
      t,
      request => {
        const calls = offered(request).map((name, index) => ({
          id: `c${index}`,
          type: 'function',
          function: { name, arguments: '{}' }
        }))
        return {
          pieces: [completionOf({ content: null, tool_calls: calls }, { finishReason: 'tool_calls' })]
        }
      },
      withTools
    )
    const mcp = { type: 'mcp', server_label: 'mine', server_url: server.url }
    const called = (): string[] =>
      (
        histories().at(-1) as Array<{
          readonly tool_calls?: ReadonlyArray<{ readonly function: { readonly name: string } }>
        }>
      ).flatMap(message => message.tool_calls?.map(call => call.function.name) ?? [])
    const ask = async (body: object): Promise<Answer> =>
      (await (await api.post('/v1/responses', { model, store: false, ...body })).json()) as Answer
    const read = { type: 'function', name: 'files_read', parameters: { type: 'object' } }

    const { output } = await ask({
      input: 'Go.',
      tools: [{ ...mcp, require_approval: 'never' }],
      max_turns: 1
    })
    t.match(output, [
      { type: 'mcp_list_tools' },
      { type: 'mcp_call', name: 'files.read' },
      { type: 'mcp_call', name: long }
    ])
    const input = [user('Go.'), ...output, user('Go on.')]
    const digest = /^files_x{49}_[0-9a-f]{8}$/
    await ask({ input, tools: [mcp] })
    t.match(called(), ['files_read', digest])
    await ask({ input, tools: [read, mcp] })
    t.match(
      called(),
      ['mine__files_read', digest],
      'the name that is offered beside a function of the caller'
    )
    await ask({ input })
    t.match(called(), ['files_read', digest], 'without the server')

    const { output: pending } = await ask({ input: 'Go.', tools: [mcp] })
    const requests = pending.filter(({ type }) => type === 'mcp_approval_request')
    t.equal(requests.length, 2)
    await ask({
      input: [
        user('Go.'),
        ...requests,
        ...requests.map(({ id }) => ({
          type: 'mcp_approval_response',
          approval_request_id: id,
          approve: true
        }))
      ],
      tools: [read, mcp]
    })
    t.match(called(), ['mine__files_read', digest])
  }
)

t.test('an approved call runs as it was approved, though a guard masks it for the provider', async t => {
  const server = await startToolServer(t)
  const { api, histories } = await start(
    t,
    ({ text }) => (
      text.includes('"role":"tool"') ? { pieces: [chatAnswer('done')] } : callsEcho('ada@example.com')
    ),
    {
      ...withTools,
      guards: [{ name: 'emails', use: 'pattern', at: ['request'], action: 'mask', patterns: ['email'] }]
    }
  )
  const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url }]
  const ask = async (body: object): Promise<Answer> =>
    (await (await api.post('/v1/responses', { model, tools, ...body })).json()) as Answer
  const question = { role: 'user', content: 'Use echo.' }
  const { id, output } = await ask({ input: [question] })
  const approval_request_id = output.at(-1)?.['id']
  const consent = { type: 'mcp_approval_response', approval_request_id, approve: true }
  const ran = {
    type: 'mcp_call',
    arguments: '{"message":"ada@example.com"}',
    approval_request_id,
    error: null
  }
  for (const body of [
    { input: [question, ...output, consent], store: false },
    { input: [consent], previous_response_id: id }
  ]) {
    t.match((await ask(body)).output, [ran, { type: 'message' }])
    t.match(histories().at(-1), [
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ function: { arguments: '{"message":"[email]"}' } }] },
      { role: 'tool' }
    ])
  }
  t.equal(server.counts['tools/call'], 2)
})

t.test('an approval matches what the caller saw, though its provider got placeholders', async t => {
  const question = { role: 'user', content: 'Write to ada@example.com.' }
  const saw = { type: 'mcp_approval_request', arguments: '{"message":"ada@example.com"}' }
  for (const unmaskFor of [[], ['server' as const]]) {
    const server = await startToolServer(t)
    const { api, histories, database } = await start(
      t,
      ({ text }) =>
        text.includes('"role":"tool"')
          ? { pieces: [chatAnswer('done')] }
          : callsEcho(/<EMAIL_\w+>/.exec(text)?.[0] ?? 'nobody'),
      {
        ...withTools,
        guards: [
          {
            name: 'emails',
            use: 'pattern',
            at: ['request', 'answer', 'tool_call', 'tool_result'],
            action: 'mask',
            patterns: ['email'],
            reversible: true,
            unmaskFor
          }
        ]
      }
    )
    const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url }]
    const ask = async (body: object): Promise<Answer & { error?: unknown }> => {
      const answer = await api.post('/v1/responses', { model, tools, ...body })
      if (!('stream' in body)) return (await answer.json()) as Answer
      return Reflect.get(streamEvents(await answer.text()).at(-1) ?? {}, 'response') as Answer
    }
    for (const stream of [{}, { stream: true }]) {
      const { id, output } = await ask({ input: [question], ...stream })
      const waiting = output.at(-1)
      t.match(waiting, saw)
      const consent = { type: 'mcp_approval_response', approval_request_id: waiting?.['id'], approve: true }
      for (const body of [
        { input: [question, ...output, consent] },
        { input: [consent], previous_response_id: id }
      ]) {
        t.match((await ask(body)).output, [
          { type: 'mcp_call', arguments: saw.arguments, error: null },
          { type: 'message' }
        ])
        t.match(server.calls.at(-1), {
          message: unmaskFor.length > 0 ? 'ada@example.com' : /^<EMAIL_\w+>$/
        })
      }
      const other = { ...waiting, arguments: '{"message":"eve@example.com"}' }
      t.match(
        await ask({ input: [question, other, consent] }),
        { error: { code: 'invalid_value', message: /does not match this call/ } },
        'other arguments were not approved'
      )
    }
    t.equal(server.calls.length, 4)
    t.notMatch(JSON.stringify(histories()), 'ada@example.com')
    const stored = await database.query.selectFrom('responses').selectAll().execute()
    t.notMatch(JSON.stringify(stored), 'ada@example.com')
  }
})

t.test('tools that items added are offered again when the response is continued', async t => {
  const offered: unknown[] = []
  const { api } = await start(t, ({ json }) => {
    offered.push(Reflect.get(Object(json), 'tools'))
    return { pieces: [chatAnswer('done')] }
  })
  const tool = (name: string, description = 'Looks.') => ({ type: 'function', name, description })
  const added = {
    type: 'additional_tools',
    tools: [
      tool('look'),
      tool('own'),
      { type: 'namespace', name: 'ns', tools: [{ type: 'custom', name: 'edit' }] },
      { type: 'web_search' }
    ]
  }
  const question = { role: 'user', content: 'Hi' }
  const ask = async (body: object): Promise<Answer> => {
    const answer = await api.post('/v1/responses', { model, ...body })
    t.equal(answer.status, 200)
    return (await answer.json()) as Answer
  }
  const first = await ask({ input: [added, question] })
  const second = await ask({ input: 'Again', previous_response_id: first.id })
  await ask({ input: 'Again', previous_response_id: second.id, tools: [tool('own', 'Is newer.')] })
  await ask({
    input: [
      added,
      question,
      ...first.output,
      { type: 'tool_search_output', tools: [tool('look', 'Is newer.')] }
    ]
  })
  t.match(offered, [
    [{ function: { name: 'look' } }, { function: { name: 'own' } }, { function: { name: 'ns__edit' } }],
    [{ function: { name: 'look' } }, { function: { name: 'own' } }, { function: { name: 'ns__edit' } }],
    [
      { function: { name: 'own', description: 'Is newer.' } },
      { function: { name: 'look' } },
      { function: { name: 'ns__edit' } }
    ],
    [
      { function: { name: 'look', description: 'Is newer.' } },
      { function: { name: 'own' } },
      { function: { name: 'ns__edit' } }
    ]
  ])
  t.strictSame(offered.map(list => Reflect.get(Object(list), 'length')), [3, 3, 3, 3])
})

t.test('a call with broken arguments is not offered for approval; the model gets an error', async t => {
  const server = await startToolServer(t)
  const broken = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"message": "a' } }
  const { api } = await start(
    t,
    ({ text }) => ({
      pieces: [
        text.includes('"role":"tool"')
          ? chatAnswer('Sorry.')
          : completionOf({ content: null, tool_calls: [broken] }, { finishReason: 'tool_calls' })
      ]
    }),
    withTools
  )
  const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url }]
  const answer = await api.post('/v1/responses', { model, tools, input: 'Use echo.' })
  t.match(((await answer.json()) as Answer).output, [
    { type: 'mcp_list_tools' },
    { type: 'mcp_call', error: { content: [{ text: /must be a JSON object/ }] } },
    { type: 'message' }
  ])
  t.equal(server.counts['tools/call'], undefined)
})

t.test('credentials of tool servers in items are not stored, and no provider gets the server', async t => {
  const server = await startToolServer(t)
  const direct = await fakeUpstream(openaiScript)
  t.teardown(direct.close)
  const { url, database } = await start(t)
  const { api } = await gateway(t, database, url, {
    ...withTools,
    providers: [chatUpstreamAt(`${url}/v1`), upstreamAt(`${direct.url}/v1`, 'direct', 'openai')]
  })
  const secret = 'a-token-for-the-tool-server'
  const mcp = { type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' }
  const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
  const added = {
    type: 'additional_tools',
    role: 'developer',
    tools: [{ ...mcp, authorization: secret, headers: { 'x-key': secret } }, look]
  }
  const first = await api.post('/v1/responses', { model, input: [added, { role: 'user', content: 'Hi' }] })
  t.equal(first.status, 200)
  const { id } = (await first.json()) as Answer
  const items = await (await api.get(`/v1/responses/${id}/input_items`)).text()
  t.match(items, '"server_label":"mine"')
  t.notMatch(items, secret)
  const next = { model: 'direct/gpt-5', previous_response_id: id, input: 'Again' }
  t.equal((await api.post('/v1/responses', next)).status, 200)
  const [sent] = direct.requests
  t.match(sent?.json, { input: [{ type: 'additional_tools', tools: [{ name: 'look' }] }, {}, {}, {}] })
  t.notMatch(sent?.text, /"mcp"|a-token/)
})

t.test('no tool runs without approval because its server shares a label with another', async t => {
  const server = await startToolServer(t)
  const other = await startToolServer(t, {
    lies: { 'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] } }
  })
  const { api } = await start(
    t,
    ({ text }) => (text.includes('"role":"tool"') ? { pieces: [chatAnswer('done')] } : callsEcho('hi')),
    withTools
  )
  const ask = async (body: object): Promise<Response> =>
    await api.post('/v1/responses', { model, input: 'Use echo.', ...body })
  const mine = { type: 'mcp', server_label: 'mine', server_url: server.url }
  for (const body of [
    { tools: [{ ...mine, server_url: other.url }, mine] },
    { tools: [mine], mcp_servers: [{ name: 'mine', url: other.url }] }
  ]) {
    const refused = await ask(body)
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { code: 'invalid_value', param: /^tools\[\d\]\.server_label$/ } })
  }
  const named = [
    { name: 'theirs', url: other.url },
    { name: 'theirs', url: server.url, allowed_tools: ['echo'] }
  ]
  const { output } = (await (await ask({ mcp_servers: named })).json()) as Answer
  t.match(output.at(1), { type: 'mcp_list_tools', server_label: 'theirs (2)' })
  t.match(
    output.at(2),
    { type: 'mcp_call', server_label: 'theirs (2)', status: 'completed' },
    'servers of `mcp_servers` need no consent, whatever their names became'
  )
  t.equal(server.counts['tools/call'], 1)
})

t.test("a tool choice may allow a server's tools, and ignores what only OpenAI runs", async t => {
  const server = await startToolServer(t)
  const provider = await fakeUpstream({ pieces: [chatAnswer('Hi.')] })
  t.teardown(provider.close)
  const api = await testGateway(t, { providers: [chatUpstreamAt(`${provider.url}/v1`)], ...withTools })
  const mcp = {
    type: 'mcp',
    server_label: 'mine',
    server_url: server.url,
    allowed_tools: ['echo', 'fail'],
    require_approval: 'never'
  }
  const tools = [
    { type: 'function', name: 'look', parameters: { type: 'object' } },
    mcp,
    { type: 'web_search' }
  ]
  const ask = async (...allowed: object[]): Promise<Response> =>
    await api.post('/v1/responses', {
      model,
      input: 'Hi',
      tools,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed }
    })
  const look = { type: 'function', name: 'look' }
  t.equal((await ask(look, { type: 'web_search' }, { type: 'mcp', server_label: 'mine' })).status, 200)
  const sent = provider.requests[0]?.json as {
    readonly tools: ReadonlyArray<{ readonly function: { readonly name: string } }>
    readonly tool_choice: unknown
  }
  const offered = sent.tools.map(tool => tool.function.name)
  t.equal(offered.length, 3)
  t.strictSame(sent.tool_choice, {
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: offered.map(name => ({ type: 'function', function: { name } })) }
  })
  const refused = await ask({ type: 'web_search' })
  t.equal(refused.status, 400)
  t.match(await refused.json(), { error: { code: 'unsupported_value', param: 'tool_choice.tools' } })
})

t.test(
  'the request limits the number of MCP calls over all turns',
  async t => {
    const server = await startToolServer(t)
    const { api, histories } = await start(
      t,
      (_, number) => (number < 2 ? callsEcho(`${number}a`, `${number}b`) : { pieces: [chatAnswer('done')] }),
      withTools
    )
    const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' }]
    const answer = await api.post('/v1/responses', { model, tools, input: 'Use echo.', max_tool_calls: 3 })
    t.match(((await answer.json()) as Answer).output, [
      { type: 'mcp_list_tools' },
      { arguments: '{"message":"0a"}', status: 'completed' },
      { arguments: '{"message":"0b"}', status: 'completed' },
      { arguments: '{"message":"1a"}', status: 'completed' },
      {
        type: 'mcp_call',
        arguments: '{"message":"1b"}',
        status: 'failed',
        output: null,
        error: { content: [{ text: 'The limit `max_tool_calls` of the request has been reached.' }] }
      },
      { type: 'message', content: [{ text: 'done' }] }
    ])
    t.equal(server.counts['tools/call'], 3)
    t.match((histories().at(-1) as unknown[]).at(-1), {
      role: 'tool',
      content: /^The tool was not called: /
    })
  }
)

t.test(
  'approved MCP calls are limited per turn and by identical arguments, like those of the model',
  async t => {
    const server = await startToolServer(t)
    const asksFor = (text: string): string => /say (\w+)/.exec(text)?.[1] ?? ''
    const { api, histories } = await start(
      t,
      ({ text }) =>
        text.includes('"role":"tool"')
          ? { pieces: [chatAnswer('done')] }
          : callsEcho(`${asksFor(text)}1`, `${asksFor(text)}2`),
      {
        tools: {
          ...settings().tools,
          connectMs: 10_000,
          callMs: 10_000,
          loopMs: 20_000,
          allowedHosts: ['127.0.0.1'],
          callsPerTurn: 3,
          maxIdenticalCalls: 1
        }
      }
    )
    const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url }]
    const ask = async (input: unknown): Promise<Answer> =>
      (await (await api.post('/v1/responses', { model, tools, store: false, input })).json()) as Answer
    const requests: Array<Record<string, unknown>> = []
    for (const word of ['a', 'a', 'b', 'c']) {
      const { output } = await ask(`say ${word}`)
      requests.push(...output.filter(({ type }) => type === 'mcp_approval_request'))
    }
    t.equal(requests.length, 8)
    const consents = requests.map(({ id }) => ({
      type: 'mcp_approval_response',
      approval_request_id: id,
      approve: true
    }))
    const { output } = await ask([{ role: 'user', content: 'Go on.' }, ...requests, ...consents])
    const failed = (message: string, text: string): object => ({
      type: 'mcp_call',
      server_label: 'mine',
      name: 'echo',
      arguments: `{"message":"${message}"}`,
      status: 'failed',
      output: null,
      error: { content: [{ text }] }
    })
    const identical = 'The maximum number of calls to a tool with the same arguments is 1.'
    const perTurn = 'The maximum number of tool calls in one turn is 3.'
    t.match(
      output.filter(({ type }) => type !== 'mcp_list_tools'),
      [
        { arguments: '{"message":"a1"}', status: 'completed', approval_request_id: requests[0]?.['id'] },
        { arguments: '{"message":"a2"}', status: 'completed' },
        failed('a1', identical),
        failed('a2', identical),
        { arguments: '{"message":"b1"}', status: 'completed' },
        { ...failed('b2', perTurn), approval_request_id: requests[5]?.['id'] },
        failed('c1', perTurn),
        failed('c2', perTurn),
        { type: 'message', content: [{ text: 'done' }] }
      ]
    )
    t.equal(server.counts['tools/call'], 3)
    t.match((histories().at(-1) as unknown[]).at(-1), {
      role: 'tool',
      content: `The tool was not called: ${perTurn}`
    })
  }
)

t.test(
  'each turn of a tool loop shows its own thinking, which goes back with its call',
  async t => {
    const server = await startToolServer(t)
    const thought = (number: number): object => ({
      type: 'thinking',
      thinking: `thought ${number}`,
      signature: `signature ${number}`
    })
    const call = (name: string): object => ({ type: 'tool_use', id: `toolu_${name}`, name, input: {} })
    const turns = [
      [thought(1), call('counted')],
      [thought(2), call('mine'), call('counted')],
      [thought(3), { type: 'text', text: 'Done.' }]
    ]
    const provider = await fakeUpstream((_, number) => ({
      pieces: [
        JSON.stringify({
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: turns[number],
          stop_reason: number === 2 ? 'end_turn' : 'tool_use',
          usage: { input_tokens: 1, output_tokens: 1 }
        })
      ]
    }))
    t.teardown(provider.close)
    const api = await testGateway(t, {
      providers: [upstreamAt(provider.url, 'anthropic', 'anthropic')],
      ...withTools
    })
    const tools = [
      { type: 'mcp', server_label: 's', server_url: server.url, require_approval: 'never' },
      { type: 'function', name: 'mine', parameters: { type: 'object', properties: {} } }
    ]
    const ask = async (input: readonly object[]): Promise<Answer> =>
      (await (
        await api.post('/v1/responses', {
          model: 'anthropic/claude-sonnet-4-5',
          reasoning: { effort: 'high' },
          tools,
          input
        })
      ).json()) as Answer
    const shown = ({ output }: Answer): unknown[] =>
      output.map(({ type, summary }) =>
        type === 'reasoning' ? (summary as Array<{ text: string }>).map(({ text }) => text).join() : type
      )

    const first = await ask([user('Go.')])
    t.strictSame(shown(first), [
      'mcp_list_tools',
      'thought 1',
      'mcp_call',
      'thought 2',
      'function_call',
      'mcp_call'
    ])
    const second = await ask([
      user('Go.'),
      ...first.output,
      { type: 'function_call_output', call_id: 'toolu_mine', output: '42' }
    ])
    t.strictSame(shown(second), ['thought 3', 'message'])
    t.match(provider.requests.at(-1)?.json, {
      thinking: { type: 'enabled' },
      messages: [
        { role: 'user' },
        { role: 'assistant', content: [thought(1), { type: 'tool_use', name: 'counted' }] },
        { role: 'user', content: [{ type: 'tool_result' }] },
        {
          role: 'assistant',
          content: [thought(2), { type: 'tool_use', name: 'mine' }, { type: 'tool_use', name: 'counted' }]
        },
        { role: 'user', content: [{ type: 'tool_result' }, { type: 'tool_result' }] }
      ]
    })
  }
)

t.test('MCP tool calls that a loop limit prevents are shown as failed', async t => {
  const server = await startToolServer(t)
  const { api, histories } = await start(t, (_, number) => callsEcho(`call ${number}`), withTools)
  const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' }]
  const request = { model, tools, input: 'Use echo.', max_turns: 2 }
  const answer = (await (await api.post('/v1/responses', request)).json()) as Answer
  const pending = {
    type: 'mcp_call',
    server_label: 'mine',
    name: 'echo',
    status: 'failed',
    error: { content: [{ text: /^The tool loop stopped before this call \(max_turns\)/ }] }
  }
  t.match(answer, {
    status: 'completed',
    output: [{ type: 'mcp_list_tools' }, { type: 'mcp_call', status: 'completed' }, pending]
  })
  t.equal(answer.output.length, 3)
  t.equal(server.counts['tools/call'], 1)
  await api.post('/v1/responses', { ...request, previous_response_id: answer.id, input: 'Go on.' })
  t.match(
    (histories().at(-2) as unknown[]).at(-2),
    { role: 'tool', content: /max_turns/ },
    'the next request can go on from it'
  )
  const streamed = streamEvents(await (await api.post('/v1/responses', { ...request, stream: true })).text())
  t.match(streamed.at(-1), { response: { output: [{}, {}, pending] } })
  t.notOk(streamed.some(({ type }) => type.includes('function_call')))
})

interface Answer {
  readonly id: string
  readonly output: ReadonlyArray<Record<string, unknown>>
}

t.test('another process with the same store streams and cancels what runs here', async t => {
  const { client, database, url } = await start(t, frames(['Hel', 'lo']))
  const other = await gateway(t, database, url)
  const queued = await client.responses.create({ model, input: 'x', background: true, stream: true })
  let id = ''
  for await (const event of queued) {
    if (event.type !== 'response.created') continue
    ;({ id } = event.response)
    break
  }
  const events = streamEvents(await (await other.api.get(`/v1/responses/${id}?stream=true`)).text())
  events.forEach(({ sequence_number: number }, index) => t.equal(number, index))
  t.match(events.at(-1), {
    type: 'response.completed',
    response: { output: [{ content: [{ text: 'Hello' }] }] }
  })

  const stalled = await start(t, {
    ...frames(['Hel']),
    pieces: chatFrames(['Hel']).slice(0, 2),
    then: 'stall'
  })
  const second = await gateway(t, stalled.database, stalled.url)
  const running = await stalled.client.responses.create({ model, input: 'x', background: true })
  t.match(await second.client.responses.cancel(running.id), { status: 'cancelled' })
  t.match(await stalled.client.responses.retrieve(running.id), { status: 'cancelled' })
})

/**
 * Starts a gateway in front of OpenAI's own API.
 * @param stalls streams stop after their text
 */
async function startDirect (t: Test, { stalls = false } = {}) {
  const provider = await fakeUpstream((request, number) =>
    stalls
      ? { headers: eventStream, pieces: openaiFrames(openaiResponse(number)).slice(0, 4), then: 'stall' }
      : openaiScript(request, number)
  )
  t.teardown(provider.close)
  const database = await openDatabase(directoryOf(t))
  t.teardown(database.close)
  return {
    ...(await gateway(t, database, provider.url, { providers: [upstreamAt(`${provider.url}/v1`)] })),
    provider
  }
}

t.test(
  "OpenAI background: callers know the gateway's id, and continuation uses OpenAI's",
  async t => {
    const { client, provider } = await startDirect(t)
    const queued = await client.responses.create({ model, input: 'one', background: true })
    t.match(queued, { id: /^resp_[0-9a-f]{32}$/, status: 'queued', output: [] })
    const { id, created_at: createdAt } = queued
    t.match(await ended(client, id), {
      id,
      created_at: createdAt,
      status: 'completed',
      background: true,
      model,
      x_new: '"one"',
      output: [{ id: 'msg_up0' }]
    })
    t.match(await client.responses.cancel(id), { status: 'completed' }, 'one that has ended stays as it is')
    t.match(await client.responses.create({ model, input: 'two', previous_response_id: id }), {
      id: 'resp_up1',
      previous_response_id: id
    })
    t.same(
      provider.requests.map(({ json }) => json),
      [
        { model: 'gpt-5', input: 'one' },
        { model: 'gpt-5', input: 'two', previous_response_id: 'resp_up0' }
      ],
      'waits for no other queue'
    )
  }
)

t.test(
  'OpenAI background: a stream is resumed where it was left, including unknown events',
  async t => {
    const { api, client } = await startDirect(t)
    const first = await (
      await api.post('/v1/responses', { model, input: 'x', background: true, stream: true })
    ).text()
    const events = streamEvents(first)
    t.same(
      events.map(({ type }) => type),
      [
        'response.created',
        'response.queued',
        'response.output_item.added',
        'response.of_the_future',
        'response.output_text.delta',
        'response.output_item.done',
        'response.completed'
      ]
    )
    t.same(
      events.map(({ sequence_number: number }) => number),
      events.map((_, index) => index)
    )
    // ours
    const [id = '', ...others] = new Set(
      events.flatMap(event => (Reflect.get(Object(event['response']), 'id') as string) ?? [])
    )
    t.same(others, [])
    t.equal(await (await api.get(`/v1/responses/${id}?stream=true`)).text(), first)
    t.strictSame(
      streamEvents(await (await api.get(`/v1/responses/${id}?stream=true&starting_after=3`)).text()),
      events.slice(4)
    )
    t.strictSame(events.at(-1)?.['response'], await (await api.get(`/v1/responses/${id}`)).json())
    const taken: string[] = []
    for await (const { type } of await client.responses.retrieve(id, { stream: true, starting_after: 4 })) {
      taken.push(type)
    }
    t.same(taken, ['response.output_item.done', 'response.completed'])
  }
)

t.test('OpenAI background: cancelling closes its connection', async t => {
  const { api, client, provider } = await startDirect(t, { stalls: true })
  const { id, seen } = await leaveStream(api.post)
  t.equal((await client.responses.retrieve(id)).status, 'in_progress')
  t.match(await client.responses.cancel(id), { id, status: 'cancelled' })
  await (
    await provider.request(0)
  ).aborted
  const events = streamEvents(await (await api.get(`/v1/responses/${id}?stream=true`)).text())
  t.strictSame(events.slice(0, -1), streamEvents(seen))
  t.match(events.at(-1), {
    type: 'response.failed',
    sequence_number: events.length - 1,
    response: { id, status: 'cancelled' }
  })
})

t.test(
  'OpenAI background: work of a killed process ends as failed in the next one',
  async t => {
    const provider = await fakeUpstream({
      headers: eventStream,
      pieces: openaiFrames(openaiResponse(0)).slice(0, 4),
      then: 'stall'
    })
    t.teardown(provider.close)
    const directory = directoryOf(t, {
      'headgate.yaml': `providers: {openai: {api_key: env:FAKE_KEY, base_url: '${provider.url}/v1', list_models: false}}\n`
    })
    const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00', FAKE_KEY: 'fake' }
    const headers = { authorization: 'Bearer a-key-of-24-characters-00', 'content-type': 'application/json' }
    const killed = await startGateway(t, directory, env)
    const { id, seen } = await leaveStream(
      async (path, body) =>
        await fetch(killed.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    )
    const database = await openDatabase(join(directory, '.headgate'))
    const stored = await eventually(
      async () => await database.query.selectFrom('response_events').select('frame').execute(),
      rows => rows.some(({ frame }) => frame.includes('output_text.delta')),
      'the frames in the store'
    )
    t.equal(stored.map(({ frame }) => frame).join(''), seen)
    killed.child.kill('SIGKILL')
    await killed.ended
    await database.query.updateTable('responses').set({ lease_until_ms: 1 }).execute() // as if expired
    await database.close()
    const next = await startGateway(t, directory, env)
    const get = async (query: string): Promise<Response> =>
      await fetch(`${next.url}/v1/responses/${id}${query}`, { headers })
    const failed = await eventually(
      async () => (await (await get('')).json()) as { status: string },
      ({ status }) => status === 'failed',
      'the end of the response'
    )
    t.match(failed, { id, error: { code: 'server_error' } })
    const events = streamEvents(await (await get('?stream=true')).text())
    t.strictSame(events.slice(0, -1), streamEvents(seen))
    t.match(events.at(-1), {
      type: 'response.failed',
      sequence_number: events.length - 1,
      response: { id, status: 'failed' }
    })
    t.equal(provider.requests.length, 1, 'nothing is begun anew')
  }
)

t.test('hostile ids, queries and items are refused, never with a 5xx', async t => {
  const { api } = await start(t)
  const words = ['%00', '%F0%9F%98%80', 'a'.repeat(5000), '%22', '__proto__', '..%2F..', '%', '-1']
  for (const word of words) {
    for (const rest of [
      '',
      '/input_items',
      '/input_items?limit=1e1&after=x',
      '?stream=true&starting_after=-1'
    ]) {
      const { status } = await api.get(`/v1/responses/${word}${rest}`)
      t.ok(status >= 400 && status < 500, `${word.slice(0, 20)}${rest}: ${status}`)
    }
    t.equal((await api.post(`/v1/responses/${word}/cancel`, '')).status < 500, true)
  }
  const strange = ['', '\0', '\ud800', 'a'.repeat(100_000), '__proto__', '" or 1=1 --']
  for (const id of strange) {
    for (const body of [
      { previous_response_id: id },
      { previous_response_id: id, input: [] },
      { input: [{ type: 'item_reference', id }] },
      { input: [{ id }] },
      { input: [{ type: 'reasoning', id, summary: [] }] },
      {
        input: [
          { type: 'mcp_approval_request', id, server_label: id, name: id, arguments: id },
          { type: 'mcp_approval_response', approval_request_id: id, approve: true }
        ]
      },
      {
        input: [{ type: 'mcp_call', id, server_label: id, name: id, arguments: id, approval_request_id: id }]
      }
    ]) {
      const { status } = await api.post('/v1/responses', { model, input: 'x', ...body })
      t.ok(status < 500, `${JSON.stringify(body).slice(0, 80)}: ${status}`)
    }
  }
})
