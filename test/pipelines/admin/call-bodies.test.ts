/** Stored call bodies: what is stored of each kind of call, and who may read it. */

import { request as send } from 'node:http'
import { once } from 'node:events'
import t from 'tap'
import { adminGateway, type AdminGateway } from '../../support/admin.ts'
import { upstreamAt } from '../../support/gateway.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type Script,
  type SeenRequest
} from '../../support/upstream.ts'
import { eventually, until } from '../../support/until.ts'
import { Secret } from '../../../lib/core/secret.ts'
import type { Settings } from '../../../lib/core/settings.ts'
import type { Database } from '../../../lib/stores/database.ts'
import type { CallBodies } from '../../../schemas/admin/call-bodies.ts'
import type { Test } from 'tap'

type KeptProject = Settings['calls']['keepBodies'][number]
type Answer = (request: SeenRequest) => Script

const chatPath = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'Hello' }] }

function keeping (
  parts: Partial<KeptProject> = {},
  project = 'default',
  keptMemoryBytes = 1_000_000
): Pick<Settings, 'calls'> {
  return {
    calls: {
      keptMemoryBytes,
      keepBodies: [
        {
          project,
          keepMs: 60_000,
          maxBytes: 64 * 1024,
          redact: { fields: [], patterns: [] },
          readableBy: 'admin',
          ...parts
        }
      ]
    }
  }
}

interface Place extends AdminGateway {
  /**
   * Calls with a new key of the default project.
   * @returns the request id
   */
  readonly call: (path: string, body: unknown, init?: RequestInit) => Promise<string>
  readonly key: string
  readonly bodies: (requestId: string) => Promise<CallBodies>
}

async function start (t: Test, answer: Answer, parts: Partial<Settings> = keeping()): Promise<Place> {
  const upstream = await fakeUpstream(answer)
  t.teardown(upstream.close)
  const provider = {
    ...upstreamAt(upstream.url, 'openai', 'openai', { quirks: { responsesApi: false } }),
    apiKey: new Secret('provider-canary')
  }
  const place = await adminGateway(t, {
    providers: [provider, upstreamAt(upstream.url, 'anthropic', 'anthropic')],
    ...parts
  })
  const { key } = await place.keys.create({ name: 'caller' })
  const owner = await place.user('owner')
  return {
    ...place,
    key,
    call: async (path, body, init = {}) => {
      const response = await place.api.post(path, body, {
        ...init,
        headers: { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) }
      })
      await response.arrayBuffer()
      return response.headers.get('x-request-id') ?? ''
    },
    bodies: async requestId => {
      await until(async () => await isStored(place.database, requestId), 'the bodies to be stored')
      // as documented; every answer is compared with the document
      return (await owner.send(`GET /admin/v1/calls/${requestId}/bodies`)).body as CallBodies
    }
  }
}

/**
 * Returns true once the record of a call and its bodies are in the store.
 * @param id of either
 */
async function isStored ({ query }: Database, id: string): Promise<boolean> {
  const stored = await query
    .selectFrom('usage')
    .innerJoin('call_bodies', 'call_bodies.id', 'usage.id')
    .select('usage.id')
    .where(build => build.or([build('usage.id', '=', id), build('call_id', '=', id)]))
    .where('state', '!=', 'storing')
    .executeTakeFirst()
  return stored !== undefined
}

const completion: Answer = () => ({ pieces: [chatAnswer('Hi there')] })
const stream =
  (texts: readonly string[], then: Script['then'] = 'end'): Answer =>
  () => ({
    headers: eventStream,
    pieces: then === 'end' ? chatFrames(texts) : chatFrames(texts).slice(0, 2),
    then
  })

t.test('bodies are kept only if the project of the key says so', async t => {
  const place = await start(t, completion, keeping({}, 'Support'))
  const owner = await place.user('owner')
  const { body: project } = await owner.send('POST /admin/v1/projects', { name: 'Support' })
  const {
    body: {
      key: { id },
      secret
    }
  } = await owner.send('POST /admin/v1/keys', { name: 'helpdesk', project_id: project.id })
  const others = await place.call(chatPath, question)
  const kept = await place.call(chatPath, question, { headers: { authorization: `Bearer ${secret}` } })
  t.match(await place.bodies(kept), {
    request_id: kept,
    readable_by: 'admin',
    request: { text: JSON.stringify(question), truncated: false, redacted: false },
    answer: { media_type: 'application/json', text: /Hi there/ }
  })
  const call = await eventually(
    async () => await owner.send(`GET /admin/v1/calls/${others}`),
    ({ status }) => status === 200,
    'the record'
  )
  t.same(call.body.bodies, { state: 'not_kept', readable_by: null, expires_at_ms: null })
  t.match(await owner.send(`GET /admin/v1/calls/${others}/bodies`), {
    status: 404,
    body: { error: { message: /`calls.keep_bodies`/ } }
  })
  t.match(
    (await owner.send(`GET /admin/v1/audit?action=call.read_bodies`)).body.data,
    [{ actor: /owner/, subject_name: kept, after: { project_id: project.id } }],
    'every reading is in the audit log, and no refusal'
  )
  t.ok(id)
  await owner.send(`DELETE /admin/v1/projects/${project.id}`)
  t.match(await owner.send(`GET /admin/v1/calls/${kept}/bodies`), {
    status: 404,
    body: { error: { message: /have expired/ } }
  })
})

t.test('a stream is kept as its complete answer, and secrets split over two events are redacted', async t => {
  const place = await start(
    t,
    stream(['My card is 4111 11', '11 1111 1111, the key sk-abc', 'def123456, of ', 'provider-can', 'ary']),
    keeping({ redact: { fields: ['user'], patterns: ['\\d{4}(?: \\d{4}){3}'] } })
  )
  const { request, answer } = await place.bodies(
    await place.call(chatPath, { ...question, user: 'ada', stream: true, mcp_servers: [] })
  )
  t.match(answer, { media_type: 'text/event-stream', redacted: true, truncated: false })
  t.match(JSON.parse(answer?.text ?? ''), {
    object: 'chat.completion',
    choices: [
      {
        message: { content: 'My card is [redacted], the key [redacted], of [redacted]' },
        finish_reason: 'stop'
      }
    ]
  })
  t.equal(JSON.parse(request?.text ?? '').user, '[redacted]')
})

t.test("a body is cut at the project's limit, and credentials in it are never kept", async t => {
  const place = await start(t, completion, keeping({ maxBytes: 512 }))
  const sent = {
    ...question,
    api_key: 'hidden-canary',
    messages: [{ role: 'user', content: `provider-canary ${place.key} ${'long '.repeat(1000)}` }]
  }
  const { request, answer } = await place.bodies(await place.call(chatPath, sent))
  t.match(request, { size_bytes: JSON.stringify(sent).length, truncated: true, redacted: true })
  t.ok((request?.text?.length ?? 0) > 400 && (request?.text?.length ?? 0) <= 512)
  t.notMatch(request?.text, /canary/)
  t.notOk(request?.text?.includes(place.key))
  t.match(answer, { truncated: false })
  const stored = await place.database.query.selectFrom('call_bodies').selectAll().execute()
  t.notMatch(JSON.stringify(stored), /canary/)
})

t.test('an error is kept with the request that caused it', async t => {
  const place = await start(t, () => ({ status: 400, pieces: ['{"error":{"message":"no such thing"}}'] }))
  const refused = await place.bodies(await place.call(chatPath, question))
  t.match(refused, { request: { text: /Hello/ }, answer: { text: /"error"/ } })
  const malformed = await place.bodies(await place.call(chatPath, '{"model": "openai/gpt-5", "mess'))
  t.match(malformed, {
    request: { text: '{"model": "openai/gpt-5", "mess"' },
    answer: { text: /invalid_json/ }
  })
})

t.test('if a caller disconnects midway, what was sent is kept', async t => {
  const place = await start(t, stream(['So far'], 'stall'))
  const { port } = new URL(place.api.url)
  const request = send({
    port,
    path: chatPath,
    method: 'POST',
    headers: { authorization: `Bearer ${place.key}`, 'content-type': 'application/json' }
  })
  request.end(JSON.stringify({ ...question, stream: true }))
  const [response] = await once(request, 'response') as [import('node:http').IncomingMessage]
  let text = ''
  for await (const piece of response) if ((text += String(piece)).includes('So far')) break
  request.destroy()
  const { answer } = await place.bodies(String(response.headers['x-request-id']))
  t.match(JSON.parse(answer?.text ?? ''), {
    choices: [{ message: { content: 'So far' }, finish_reason: null }]
  })
})

t.test('the other dialects, forms and media', async t => {
  const messages = [
    '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    ...['Bon', 'jour'].map(text =>
      JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
    ),
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}',
    '{"type":"message_stop"}'
  ].map(data => `event: ${JSON.parse(data).type}\ndata: ${data}\n\n`)
  const place = await start(t, ({ path }) => {
    if (path.includes('speech')) {
      return { headers: { 'content-type': 'audio/mpeg' }, pieces: [Buffer.alloc(2000)] }
    }
    if (path.includes('transcriptions')) return { pieces: ['{"text":"spoken words"}'] }
    return path.includes('messages')
      ? { headers: eventStream, pieces: messages }
      : { headers: eventStream, pieces: chatFrames(['Hel', 'lo']) }
  })
  const direct = await place.bodies(
    await place.call('/v1/messages', {
      model: 'anthropic/claude-opus-4-8',
      max_tokens: 10,
      stream: true,
      messages: [{ role: 'user', content: 'Salut' }]
    })
  )
  t.match(JSON.parse(direct.answer?.text ?? ''), [
    { type: 'message_start' },
    { type: 'content_block_start' },
    { delta: { text: 'Bonjour' } },
    { type: 'content_block_stop' },
    { type: 'message_delta' },
    { type: 'message_stop' }
  ])
  const response = await place.bodies(
    await place.call('/v1/responses', { model: 'openai/gpt-5', input: 'Salut', stream: true, store: false })
  )
  t.match(JSON.parse(response.answer?.text ?? ''), {
    object: 'response',
    status: 'completed',
    output: [{ content: [{ text: 'Hello' }] }]
  })
  const spoken = await place.bodies(
    await place.call('/v1/audio/speech', { model: 'openai/tts-1', input: 'words', voice: 'alloy' })
  )
  t.match(spoken, {
    request: { text: /words/ },
    answer: { media_type: 'audio/mpeg', size_bytes: 2000, text: null }
  })
  const form = new FormData()
  form.set('model', 'openai/whisper-1')
  form.set('file', new File([Buffer.from('ID3canary')], 'a.mp3', { type: 'audio/mpeg' }))
  const sent = await fetch(`${place.api.url}/v1/audio/transcriptions`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${place.key}` }
  })
  await sent.arrayBuffer()
  const { request, answer } = await place.bodies(sent.headers.get('x-request-id') ?? '')
  t.match(JSON.parse(request?.text ?? ''), {
    fields: { model: 'openai/whisper-1' },
    files: [{ field: 'file', name: 'a.mp3', media_type: 'audio/mpeg', size_bytes: 9 }]
  })
  t.match(answer, { text: /spoken words/ })
  t.same(
    (await place.bodies(await place.call('/v1/embeddings', { model: 'openai/none', input: 'x' }))).request
      ?.text,
    '{"model":"openai/none","input":"x"}'
  )
})

t.test('calls that run without a waiting caller keep their own bodies', async t => {
  const place = await start(t, completion, {
    ...keeping(),
    deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1e6 }
  })
  const owner = await place.user('owner')
  for (const [path, body] of [
    [chatPath, { ...question, deferred: true }],
    ['/v1/responses', { model: 'openai/gpt-5', input: 'Hello', background: true }]
  ] as const) {
    const id = await place.call(path, body)
    const list = await eventually(
      async () => (await owner.send(`GET /admin/v1/calls?search=${id}`)).body.data as Array<{ id: string }>,
      calls => calls.length === 2,
      'both records'
    )
    const kept = await Promise.all(list.map(async call => await place.bodies(call.id)))
    t.ok(kept.every(({ request }) => request?.text?.includes('Hello')), path)
    t.equal(kept.filter(({ answer }) => answer?.text?.includes('Hi there')).length, 1, path)
  }
})

t.test('bodies without enough memory are dropped and counted, and the call says so', async t => {
  const place = await start(t, completion, keeping({}, '*', 2048))
  const owner = await place.user('owner')
  const id = await place.call(chatPath, {
    ...question,
    messages: [{ role: 'user', content: 'long '.repeat(1000) }]
  })
  await until(async () => await isStored(place.database, id), 'the mark')
  const { body } = await owner.send(`GET /admin/v1/calls/${id}`)
  t.match(body, { outcome: 'ok', bodies: { state: 'dropped', readable_by: 'admin' } })
  t.match(await owner.send(`GET /admin/v1/calls/${id}/bodies`), {
    status: 404,
    body: { error: { message: /memory for kept bodies was full/ } }
  })
  t.equal(place.api.gateway.load().bodiesDropped, 1)
  t.match(
    (await place.bodies(await place.call(chatPath, question))).answer,
    { text: /Hi there/ },
    'the next one has room'
  )
})

t.test('roles, projects and admin key scopes decide who may read', async t => {
  const place = await start(t, completion, keeping({ readableBy: 'owner' }))
  const id = await place.call(chatPath, question)
  await place.bodies(id)
  const status = async ({ send }: { readonly send: AdminGateway['send'] }): Promise<number> =>
    (await send(`GET /admin/v1/calls/${id}/bodies`)).status
  t.same(
    [
      await status(await place.user('admin')),
      await status(await place.user('member', ['default'])),
      await status(await place.user('member')),
      await status(await place.user('viewer', ['default']))
    ],
    [403, 403, 404, 403]
  )
  await place.api.gateway.reload({
    ...place.api.gateway.services.settings,
    ...keeping({ readableBy: 'member' })
  })
  t.equal(await status(await place.user('admin')), 403, 'what was kept stays as it was kept')
  const later = await place.call(chatPath, question)
  await place.bodies(later)
  t.equal(
    (await (await place.user('member', ['default'])).send(`GET /admin/v1/calls/${later}/bodies`)).status,
    200
  )
  const owner = await place.user('owner')
  for (const [scope, expected] of [['calls:read', 403], ['bodies:read', 200]] as const) {
    const { body } = await owner.send('POST /admin/v1/admin-keys', { name: scope, scopes: [scope] })
    t.equal(
      (
        await place.send(`GET /admin/v1/calls/${later}/bodies`, undefined, {
          authorization: `Bearer ${body.secret}`
        })
      ).status,
      expected,
      scope
    )
  }
})

t.test('what a guard replaced is kept with all other fields of the request', async t => {
  const upstream = await fakeUpstream(() => ({ pieces: ['{"pages":[{"index":0,"markdown":"x"}]}'] }))
  t.teardown(upstream.close)
  const place = await start(t, completion, {
    ...keeping(),
    providers: [upstreamAt(upstream.url, 'mistral', 'mistral')],
    guards: [{
      name: 'names',
      use: 'pattern',
      at: ['request'],
      action: 'mask',
      patterns: [{ name: 'name', match: 'zoe', maxLength: 3 }]
    }]
  })
  const options = { model: 'mistral/mistral-ocr-latest', pages: [1], image_limit: 2, image_min_size: 3 }
  const document = { type: 'document_url', document_url: 'https://example.com/zoe.pdf' }
  const { request } = await place.bodies(await place.call('/v1/ocr', { document, ...options }))
  t.same(JSON.parse(request?.text ?? ''), {
    ...options,
    document: { ...document, document_url: 'https://example.com/[name].pdf' }
  })
})
