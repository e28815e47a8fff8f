/**
 * Text that guards mask or refuse appears nowhere: not upstream, not downstream, not in the store, the log,
 * recorded bodies or cached answers. On every endpoint, in every dialect, complete and streamed, with
 * providers of every protocol, for a pattern and for a service.
 */

import t from 'tap'
import { ChatRequest } from '../../schemas/chat.ts'
import { endpointsWhere, type EndpointName } from '../../schemas/endpoints.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import { ImageEditRequest, ImageRequest, ImageVariationRequest } from '../../schemas/images.ts'
import { OcrRequest } from '../../schemas/ocr.ts'
import { SpeechRequest } from '../../schemas/speech.ts'
import { TranscriptionRequest } from '../../schemas/transcription.ts'
import { TranslationRequest } from '../../schemas/translation.ts'
import { embeddingsRequestTexts } from '../../lib/embeddings/text-places.ts'
import { imageRequestTexts } from '../../lib/images/text-places.ts'
import { speechRequestTexts } from '../../lib/audio/text-places.ts'
import { PlaceTable, text as textPlace } from '../../lib/json/place-table.ts'
import { CountTokensRequest, MessagesRequest } from '../../schemas/messages-request.ts'
import { CompactRequest, ResponsesRequest } from '../../schemas/responses.ts'
import { TextCompletionRequest } from '../../schemas/text-completions.ts'
import { chatRequestTexts } from '../../lib/dialects/chat-completions/text-places.ts'
import { messagesRequestTexts } from '../../lib/dialects/messages/text-places.ts'
import { responsesRequestTexts } from '../../lib/dialects/responses/text-places.ts'
import { completionRequestTexts } from '../../lib/dialects/text-completions/text-places.ts'
import { SharedAnswers } from '../../lib/coordination/shared-answers.ts'
import { adminGateway, type AdminGateway } from '../support/admin.ts'
import { wav } from '../support/audio.ts'
import {
  dialects,
  holdsWord,
  messagesIn,
  protocols as allProtocols,
  scriptOf,
  takenBy,
  type Json,
  type Protocol
} from '../support/conversations.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { allRounds } from '../support/rounds.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { valuesWith } from '../support/schema-texts.ts'
import { eventually, until } from '../support/until.ts'
import { fakeUpstream, type FakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { word } from '../support/word-stages.ts'
import type { SharedTexts } from '../../lib/cache/entries.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { Tables } from '../../lib/stores/tables.ts'
import type { GuardAction } from '../../schemas/config/guards.ts'
import type { TSchema } from 'typebox'
import type { Test } from 'tap'

type Action = GuardAction

/** xAI uses chat completions. */
const { xai: _xai, ...protocols } = allProtocols

const points: GuardSettings['at'] = ['request', 'answer', 'tool_call', 'tool_result']

/** The kinds of guards: one that decides at once, and one that calls a service. */
const kinds: Readonly<
  Record<'pattern' | 'webhook', (t: Test, action: Action) => GuardSettings | Promise<GuardSettings>>
> = {
  pattern: (_t, action) => ({
    name: 'islands',
    use: 'pattern',
    at: points,
    action,
    patterns: [{ name: 'island', match: 'Z[a-z]{6}r', maxLength: 8 }]
  }),
  webhook: async (t, action) => {
    const service = await fakeUpstream(({ json }) => {
      const texts = (json as { texts: ReadonlyArray<{ text: string }> }).texts.map(({ text }) => text)
      const found = texts.some(text => text.includes(word))
      const answer =
        action !== 'refuse'
          ? { texts: texts.map(text => text.replaceAll(word, '[island]')) }
          : found
            ? { refuse: 'it contains island' }
            : {}
      return { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(answer)] }
    })
    t.teardown(service.close)
    return {
      name: 'islands',
      use: 'webhook',
      url: service.url,
      at: points,
      action,
      window: { characters: 10, overlap: 20, maxWaitMs: 60_000 }
    }
  }
}

interface Started extends Omit<AdminGateway, 'send'> {
  readonly upstreams: Readonly<Record<string, FakeUpstream>>
  readonly send: (
    path: string,
    body: Json | string,
    headers?: Readonly<Record<string, string>>
  ) => Promise<Response>
  /** Fetches answers that are ready later. */
  readonly fetched: (path: string) => Promise<string>
}

/** A gateway that stores everything it can, with providers of all protocols. */
async function start (t: Test, stage: GuardSettings, more: Partial<GatewayOptions> = {}): Promise<Started> {
  const upstreams: Record<string, FakeUpstream> = {}
  const providers: Settings['providers'][number][] = []
  for (const [id, protocol] of Object.entries(protocols)) {
    const upstream = (upstreams[id] = await fakeUpstream(scriptOf(protocol)))
    t.teardown(upstream.close)
    providers.push({ ...protocol.provider(upstream.url), id })
  }
  const others = (upstreams['others'] = await fakeUpstream(otherAnswers))
  t.teardown(others.close)
  const gateway = await adminGateway(
    t,
    {
      providers: [...providers, upstreamAt(others.url), upstreamAt(others.url, 'mistral', 'mistral')],
      server: { ...settings().server, compatibility: 'litellm' },
      guards: [stage],
      cache: { answers: { ttlMs: 60_000, maxBytes: 16e6, scope: 'key', when: 'always' } },
      deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 100, maxBytesPerKey: 1e6 },
      calls: {
        keptMemoryBytes: 1e8,
        keepBodies: [
          {
            project: '*',
            keepMs: 60_000,
            maxBytes: 500_000,
            redact: { fields: [], patterns: [] },
            readableBy: 'admin'
          }
        ]
      }
    },
    more
  )
  const { key } = await gateway.keys.create({ name: 'caller' })
  const headers = { authorization: `Bearer ${key}` }
  return {
    ...gateway,
    upstreams,
    send: async (path, body, more) => {
      if (!Object.values(body).some(value => value instanceof File)) {
        return await gateway.api.post(path, body, { headers: { ...headers, ...more } })
      }
      const form = new FormData()
      for (const [name, value] of Object.entries(body)) {
        form.append(name, value instanceof File ? value : String(value))
      }
      return await fetch(gateway.api.url + path, { method: 'POST', body: form, headers })
    },
    fetched: async path => {
      let text = ''
      await until(async () => {
        const response = await gateway.api.get(path, { headers })
        text = await response.text()
        return (
          response.status !== 202 &&
          (path.endsWith('?stream=true') || !/"status":\s*"(?:queued|in_progress)"/.test(text))
        )
      }, path)
      return text
    }
  }
}

function modelAt (id: string, { model }: Protocol): string {
  return `${id}/${model.replace(/^.*\//, '')}`
}

/** Returns the recorded bodies of all calls. */
async function keptBodies ({ database }: Started): Promise<string> {
  return JSON.stringify(await database.query.selectFrom('call_bodies').selectAll().execute())
}

/** Waits for the rows and bodies of calls, and for background work. */
async function untilKept ({ database }: Started, calls: number): Promise<void> {
  const rows = async (table: 'usage' | 'call_bodies'): Promise<number> =>
    (await database.query.selectFrom(table).select('id').execute()).length
  await until(async () => (await rows('usage')) >= calls, `the rows of ${calls} calls`, 30_000)
  await until(
    async () =>
      (await rows('call_bodies')) >= calls &&
      (await database.query.selectFrom('call_bodies').select('id').where('state', '=', 'storing').execute())
        .length === 0,
    'the bodies of all calls'
  )
  await until(
    async () =>
      (
        await database.query
          .selectFrom('responses')
          .select('id')
          .where('status', 'in', ['queued', 'in_progress'])
          .execute()
      ).length === 0,
    'the responses in the background'
  )
}

/** Searches the log, and every text in the store. */
async function searchWhatIsKept (t: Test, started: Started, calls: number): Promise<void> {
  const { api, database } = started
  const rows = async (table: keyof Tables): Promise<object[]> =>
    await database.query.selectFrom(table).selectAll().execute()
  await untilKept(started, calls)
  const tables = [
    'usage',
    'usage_rollups',
    'call_bodies',
    'deferred',
    'responses',
    'response_items',
    'response_events',
    'text_pieces',
    'keys',
    'spending',
    'audit'
  ] as const satisfies ReadonlyArray<keyof Tables>
  for (const table of tables) {
    for (const row of await rows(table)) {
      t.notOk(holdsWord(JSON.stringify(row)), `not in ${table}: ${JSON.stringify(row).slice(0, 600)}`)
    }
  }
  for (const line of api.lines) {
    t.notOk(holdsWord(JSON.stringify(line)), `not in the log: ${JSON.stringify(line).slice(0, 300)}`)
  }
}

const seen = (upstreams: Started['upstreams']): string =>
  Object.values(upstreams)
    .flatMap(({ requests }) => requests.map(({ path, text }) => path + text))
    .join('\n')

const message = 'The guard `islands` refused this call: it contains island.'
const refusals: Readonly<Record<keyof typeof dialects, Json>> = {
  chat: { error: { message, code: 'content_refused', type: 'invalid_request_error' } },
  completions: { error: { message, code: 'content_refused', type: 'invalid_request_error' } },
  messages: { type: 'error', error: { type: 'invalid_request_error', message } },
  responses: { error: { message, code: 'content_refused', type: 'invalid_request_error' } }
}

/**
 * Sends what is answered later, stored and continued, and fetches it. @returns the number of calls that are
 * recorded
 */
async function askLater (t: Test, { send, fetched }: Started, action: Action): Promise<number> {
  const { chat, responses } = dialects
  const here = action === 'refuse' ? 'there' : word
  const expected = { mask: /\[island\]/, refuse: /refused this call/, report: new RegExp(word) }[action]
  let calls = 0
  for (const [id, protocol] of Object.entries(protocols)) {
    const model = modelAt(id, protocol)
    const post = async (path: string, body: Json): Promise<string> => {
      calls++
      return await (await send(path, takenBy(protocol, body))).text()
    }
    const texts = [await post(responses.path, { ...responses.request(model, here), store: true })]
    const [deferred, queued, streamed] = [
      await post(chat.path, { ...chat.request(model, here), deferred: true }),
      await post(responses.path, { ...responses.request(model, here), store: true, background: true }),
      await post(responses.path, {
        ...responses.request(model, here),
        store: true,
        background: true,
        stream: true
      })
    ]
    calls += 3 // those that run later
    texts.push(deferred, queued, streamed)
    const [stored, first, second] = [texts[0], queued, streamed].map(
      text => /"id":\s*"(resp_[^"]+)"/.exec(text ?? '')?.[1]
    )
    texts.push(
      await fetched(`/v1/chat/deferred-completion/${/"request_id":\s*"([^"]+)"/.exec(deferred)?.[1]}`)
    )
    for (const response of [first, second]) texts.push(await fetched(`/v1/responses/${response}`))
    texts.push(await fetched(`/v1/responses/${second}?stream=true`))
    if (action !== 'refuse') {
      texts.push(
        await fetched(`/v1/responses/${stored}`),
        await fetched(`/v1/responses/${stored}/input_items`)
      )
      const [, called] = /"call_id":\s*"([^"]+)"/.exec(texts[0] ?? '') ?? []
      const result = { type: 'function_call_output', call_id: called, output: word }
      const input = [result, { role: 'user', content: word }]
      texts.push(await post(responses.path, { model, input, previous_response_id: stored }))
    }
    for (const [number, text] of texts.entries()) {
      if (action !== 'report') t.notOk(holdsWord(text), `${id}, later, ${number}: ${text.slice(0, 800)}`)
    }
    t.match(texts[4], expected, `${id}: a deferred completion`)
    for (const text of texts.slice(5, 8)) t.match(text, expected, `${id}: a background response`)
    for (const text of texts.slice(8)) t.match(text, expected, `${id}: a stored response`)
  }
  return calls
}

/** Names end users in every way, in calls that are answered and in calls that end before guards run. */
async function sayWhose (t: Test, { send }: Started, kind: string): Promise<number> {
  const name = kind === 'pattern' ? word : 'there' // services do not receive member names
  const question = { model: 'chat/m', messages: [{ role: 'user', content: 'hi' }] }
  const whose = { 'x-headgate-tags': word, 'x-litellm-end-user-id': word, 'session-id': word }
  const rows: ReadonlyArray<
    readonly [path: string, body: Json | string, headers?: Readonly<Record<string, string>>]
  > = [
    ['/v1/chat/completions', question, whose],
    ['/v1/chat/completions', { ...question, user: word, metadata: { tags: [word], a: word } }],
    ['/v1/messages', { ...question, max_tokens: 9, metadata: { user_id: `user_1_session_${word}` } }],
    ['/v1/responses', { model: 'chat/m', input: 'hi', safety_identifier: word, metadata: { [name]: 'a' } }],
    ['/v1/embeddings', { model: 'openai/m', input: 'hi', user: word }, whose],
    ['/v1/chat/completions', { ...question, tags: [word] }],
    ['/v1/chat/completions', { ...question, tags: [word], deferred: true }],
    ['/v1/chat/completions', { ...question, metadata: { tags: [word] } }],
    ['/v1/chat/completions', { ...question, metadata: { a: { b: ['x'.repeat(600), word] } } }],
    ['/v1/messages', { ...question, max_tokens: 9, metadata: { user_id: word, tags: [word], a: [word] } }],
    ['/v1/responses', { model: 'chat/m', input: word, metadata: { a: [word], b: { [name]: 1 } } }],
    ['/v1/embeddings', { model: 'openai/m', input: 'hi', metadata: { a: { b: `${word}"` } } }],
    ['/v1/images/generations', { model: 'openai/gpt-image-1', prompt: 'hi', metadata: { a: [word] } }],
    [
      '/v1/ocr',
      {
        model: 'mistral/mistral-ocr-latest',
        document: { document_url: 'https://example.com/a.pdf' },
        metadata: { a: word, b: [word] }
      }
    ],
    ['/v1/chat/completions', { ...question, temperature: word, user: word }, whose],
    ['/v1/chat/completions', { ...question, [`x_${name}`]: 1 }],
    ['/v1/chat/completions', { ...question, model: 'none/m', user: word }],
    ['/v1/chat/completions', `{ "messages": "${word}`],
    ['/v1/chat/completions', { ...question, user: word }, { 'x-headgate-dry-run': 'true' }]
  ]
  for (const [path, body, headers] of rows) {
    const response = await send(path, body, headers)
    await response.text()
    t.ok(response.status < 500, `${path} ${JSON.stringify(body)}`)
  }
  return rows.length - 1 // a dry run has no row
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64'
)
const image = (name: string): File => new File([png], `${name}.png`, { type: 'image/png' })
const recording = (here: string, model = 'openai/whisper-1'): Json => ({
  model,
  prompt: `in ${here}`,
  file: new File([new Uint8Array(wav)], `${here}.wav`)
})
const spoken = (here: string): Json => ({
  model: 'openai/gpt-4o-mini-tts',
  input: `in ${here}`,
  voice: 'alloy',
  instructions: here
})
const edit = (here: string): Json => ({
  model: 'openai/gpt-image-1',
  prompt: `in ${here}`,
  image: image(here)
})
const asks = (model: string, here: string): Json => ({
  model,
  messages: [{ role: 'user', content: `in ${here}` }]
})

/** A finished provider response with these items. */
function completedResponse (output: readonly object[]): Json {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output,
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2
    }
  }
}

function formOf ({ stream, stream_format: format }: Json): 'streamed' | 'complete' {
  return stream === true || format === 'sse' ? 'streamed' : 'complete'
}

/** Requests of the other endpoints, complete and streamed, and whether their answers contain text. */
const others: Readonly<
  Record<
    Exclude<
      EndpointName,
      'chat' | 'completions' | 'models' | 'key' | 'openapi' | 'health' | 'livez' | 'readyz'
    >,
    ReadonlyArray<readonly [path: string, request: (here: string) => Json, answers: boolean]>
  >
> = {
  messages: [['/v1/messages/count_tokens', here => asks('openai/m-codex', here), false]],
  responses: [
    ['/v1/responses/input_tokens', here => ({ model: 'openai/m-codex', input: `in ${here}` }), false],
    ['/v1/responses/compact', here => ({ model: 'openai/m-codex', input: `in ${here}` }), false]
  ],
  embeddings: [
    ['/v1/embeddings', here => ({ model: 'openai/m', input: [`in ${here}`], user: here }), false]
  ],
  speech: [
    ['/v1/audio/speech', spoken, false],
    ['/v1/audio/speech', here => ({ ...spoken(here), stream_format: 'sse' }), false]
  ],
  transcriptions: [
    ['/v1/audio/transcriptions', recording, true],
    [
      '/v1/audio/transcriptions',
      here => ({ ...recording(here, 'openai/gpt-4o-transcribe'), stream: true }),
      true
    ]
  ],
  translations: [['/v1/audio/translations', recording, true]],
  images: [
    [
      '/v1/images/generations',
      here => ({ model: 'openai/gpt-image-1', prompt: `in ${here}`, user: here }),
      true
    ],
    [
      '/v1/images/generations',
      here => ({ model: 'openai/gpt-image-1', prompt: `in ${here}`, stream: true, partial_images: 1 }),
      true
    ],
    ['/v1/images/edits', edit, true],
    ['/v1/images/edits', here => ({ ...edit(here), stream: true, partial_images: 1 }), true],
    ['/v1/images/variations', here => ({ model: 'openai/dall-e-2', user: here, image: image(here) }), true]
  ],
  ocr: [
    [
      '/v1/ocr',
      here => ({
        model: 'mistral/mistral-ocr-latest',
        document: { document_url: `https://example.com/${here}.pdf` }
      }),
      true
    ]
  ]
}

/** Events of a transcript split inside words, and of images of which one is unfinished. */
const streamedAnswers: ReadonlyArray<readonly [path: RegExp, events: readonly Json[]]> = [
  [/speech$/, [{ type: 'speech.audio.delta', audio: 'aGk=' }, { type: 'speech.audio.done' }]],
  [
    /transcriptions$/,
    [
      ...['I went to ', word.slice(0, 3), word.slice(3), '.'].map(delta => ({
        type: 'transcript.text.delta',
        delta
      })),
      { type: 'transcript.text.done', text: `I went to ${word}.` }
    ]
  ],
  [
    /images\/generations$/,
    ['partial_image', 'completed'].map(kind => ({
      type: `image_generation.${kind}`,
      b64_json: 'aGk=',
      revised_prompt: `A drawing of ${word}`
    }))
  ],
  [
    /images\/edits$/,
    ['partial_image', 'completed'].map(kind => ({
      type: `image_edit.${kind}`,
      b64_json: 'aGk=',
      revised_prompt: `A drawing of ${word}`
    }))
  ]
]

function otherAnswers ({ path, text }: SeenRequest): Script {
  const [, events] = streamedAnswers.find(([pattern]) => pattern.test(path)) ?? []
  if (events !== undefined && /"stream":true|"sse"|name="stream"\r\n\r\ntrue/.test(text)) {
    return {
      headers: { 'content-type': 'text/event-stream' },
      pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`)
    }
  }
  const answers: ReadonlyArray<readonly [RegExp, object]> = [
    [/input_tokens$/, { object: 'response.input_tokens', input_tokens: 3 }],
    [
      /compact$/,
      {
        id: 'resp_1',
        object: 'response.compaction',
        created_at: 1,
        output: [],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
      }
    ],
    [
      /embeddings$/,
      {
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
        model: 'm',
        usage: { prompt_tokens: 1, total_tokens: 1 }
      }
    ],
    [/(?:transcriptions|translations)$/, { text: `I went to ${word}.` }],
    [/images/, { created: 1, data: [{ b64_json: 'aGk=', revised_prompt: `A drawing of ${word}` }] }],
    [
      /ocr$/,
      {
        pages: [{ index: 0, markdown: `# ${word}`, images: [], dimensions: null }],
        model: 'm',
        usage_info: { pages_processed: 1, doc_size_bytes: 1 }
      }
    ]
  ]
  const [, answer] = answers.find(([pattern]) => pattern.test(path)) ?? []
  return answer === undefined
    ? { headers: { 'content-type': 'audio/mpeg' }, pieces: ['sound'] }
    : { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(answer)] }
}

t.test('the table has every endpoint with texts', async t => {
  t.same(['chat', 'completions', ...Object.keys(others)].toSorted(), endpointsWhere('hasTexts').toSorted())
})

t.test('each POST endpoint has rows, complete and streamed if it supports streams', async t => {
  const rows = [
    ...Object.values(dialects).flatMap(({ path }) => [`${path} complete`, `${path} streamed`]),
    ...Object.values(others)
      .flat()
      .map(([path, request]) => `${path} ${formOf(request('there'))}`)
  ]
  const expected = endpointDocs.flatMap(({ method, path, request, answers }) => {
    if (method !== 'POST' || !path.startsWith('/v1/') || request === undefined) return []
    const hasStream = answers.some(({ mediaType }) => mediaType === 'text/event-stream')
    return [`${path} complete`, ...hasStream ? [`${path} streamed`] : []]
  })
  t.same([...new Set(rows)].toSorted(), expected.toSorted())
})

for (const [kind, stageOf] of Object.entries(kinds)) {
  t.test(`${kind}: masked text appears nowhere`, async t => {
    const started = await start(t, await stageOf(t, 'mask'))
    const { send, upstreams } = started
    let calls = 0
    for (const [id, protocol] of Object.entries(protocols)) {
      for (const [name, { path, request, textsOf }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const body = { ...takenBy(protocol, request(modelAt(id, protocol), word)), stream }
          for (const again of [false, true]) {
            const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}${again ? ', again' : ''}`
            const response = await send(path, body)
            const text = await response.text()
            calls++
            t.equal(response.status, 200, `${title}: ${text.slice(0, 300)}`)
            if (again) t.equal(response.headers.get('x-headgate-cache'), 'hit', title)
            for (const one of [text, ...textsOf(stream ? messagesIn(text) : [JSON.parse(text) as Json])]) {
              t.notOk(holdsWord(one), `${title}: ${one.slice(0, 500)}`)
            }
            t.ok(text.includes('[island]'), title)
          }
        }
      }
    }
    calls += await askLater(t, started, 'mask')
    calls += await sayWhose(t, started, kind)
    for (const [to, rows] of Object.entries(others)) {
      for (const [path, request, answers] of rows) {
        const response = await send(path, request(word))
        const text = await response.text()
        calls++
        t.equal(response.status, 200, `${to} ${path}: ${text.slice(0, 300)}`)
        t.notOk(holdsWord(text), `${path}: ${text.slice(0, 500)}`)
        t.equal(text.includes('[island]'), answers, path)
        t.match(upstreams['others']?.requests.at(-1)?.text, /\[island\]/, path)
      }
    }
    t.notOk(holdsWord(seen(upstreams)), 'not upstream')
    await searchWhatIsKept(t, started, calls)
    t.match(await keptBodies(started), /\[island\]/, 'bodies are kept as guards left them')
  })

  t.test(`${kind}: a refused request is sent nowhere, and a refused answer is not returned`, async t => {
    const started = await start(t, await stageOf(t, 'refuse'))
    const { send, upstreams } = started
    let calls = 0
    for (const here of [word, 'there']) {
      for (const [id, protocol] of Object.entries(protocols)) {
        for (const [name, { path, request }] of Object.entries(dialects)) {
          for (const stream of [false, true]) {
            const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}, ${here === word ? 'request' : 'answer'}`
            const body = { ...takenBy(protocol, request(modelAt(id, protocol), here)), stream }
            const response = await send(path, body)
            const text = await response.text()
            calls++
            t.equal(response.status, 400, title)
            t.notOk(holdsWord(text), `${title}: ${text.slice(0, 500)}`)
            t.match(JSON.parse(text), refusals[name as keyof typeof dialects], title) // its own key
          }
        }
      }
      if (here === word) t.equal(seen(upstreams), '', 'no request is sent')
    }
    for (const [path, request] of Object.values(others).flat()) {
      const response = await send(path, request(word))
      const text = await response.text()
      calls++
      t.equal(response.status, 400, `${path}: ${text.slice(0, 300)}`)
      t.match(text, /The guard `islands` refused this call: it contains island\./, path)
    }
    t.equal(upstreams['others']?.requests.length, 0)
    for (const [path, request, answers] of Object.values(others).flat()) {
      const body = request('there')
      const title = `${path}, ${formOf(body)}, answer`
      const response = await send(path, body)
      const text = await response.text()
      calls++
      t.notOk(holdsWord(text), `${title}: ${text.slice(0, 500)}`)
      if (answers) t.match(text, /The guard `islands` refused this call: it contains island\./, title)
      else t.equal(response.status, 200, title)
    }
    calls += await askLater(t, started, 'refuse')
    calls += await sayWhose(t, started, kind)
    t.notOk(holdsWord(seen(upstreams)), 'not upstream')
    await searchWhatIsKept(t, started, calls)
  })
}

for (const [kind, stageOf] of Object.entries(kinds)) {
  t.test(`${kind}: reported text passes unchanged, and is counted`, async t => {
    const started = await start(t, await stageOf(t, 'report'))
    const { api, send, upstreams } = started
    let calls = 0
    const pointsOf = async (): Promise<Set<string>> => {
      calls++
      await until(
        () => api.lines.filter(({ msg }) => msg === 'call').length >= calls,
        `the line of call ${calls}`
      )
      const { findings = [] } = api.lines.findLast(({ msg }) => msg === 'call') as {
        findings?: ReadonlyArray<{ stage: string, point: string, action: string }>
      }
      for (const { stage, action } of findings) t.same([stage, action], ['islands', 'report'])
      return new Set(findings.map(({ point }) => point))
    }
    for (const [id, protocol] of Object.entries(protocols)) {
      for (const [name, { path, request, textsOf }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}`
          const before = upstreams[id]?.requests.length ?? 0
          const response = await send(path, {
            ...takenBy(protocol, request(modelAt(id, protocol), word)),
            stream,
            cache: { 'no-store': true }
          })
          const text = await response.text()
          t.equal(response.status, 200, `${title}: ${text.slice(0, 300)}`)
          t.ok(holdsWord(upstreams[id]?.requests[before]?.text ?? ''), `${title}: the provider gets it`)
          t.ok(
            textsOf(stream ? messagesIn(text) : [JSON.parse(text) as Json]).some(holdsWord),
            `${title}: the caller gets it`
          )
          t.notMatch(text, /\[island\]/, title)
          const found = await pointsOf()
          t.ok(found.has('request') && found.has('answer'), `${title}: ${[...found].join()}`)
          if (name !== 'completions') {
            t.ok(found.has('tool_call') && found.has('tool_result'), `${title}: ${[...found].join()}`)
          }
        }
      }
    }
    for (const [path, request, answers] of Object.values(others).flat()) {
      const response = await send(path, request(word))
      const text = await response.text()
      t.equal(response.status, 200, `${path}: ${text.slice(0, 300)}`)
      t.ok(holdsWord(upstreams['others']?.requests.at(-1)?.text ?? ''), path)
      t.equal(holdsWord(text), answers, path)
      t.equal((await pointsOf()).has('request'), true, path)
    }
    calls += await askLater(t, started, 'report')
    await untilKept(started, calls)
    const rows = await started.database.query
      .selectFrom('usage')
      .select(['endpoint', 'findings'])
      .where('attempts', '>', 0) // fetched answers were counted before
      .execute()
    for (const { endpoint, findings } of rows) {
      t.notOk(holdsWord(String(findings)), 'what is counted says not what it is')
      t.match(findings, /"report"/, `${endpoint}: it is counted`)
    }
    t.ok(holdsWord(await keptBodies(started)), 'bodies are kept unchanged')
  })

  t.test(`${kind}: masked text is not in Redis, where answers are shared`, { skip: noRedis }, async t => {
    const redis = await startRedis(t)
    const server = await redis.connect(t)
    const texts: string[] = []
    const shared = new SharedAnswers(server)
    const answers: SharedTexts = {
      get: async name => await shared.get(name),
      set: (name, text, ttlMs) => {
        texts.push(text, Buffer.from(text, 'base64').toString('latin1'))
        shared.set(name, text, ttlMs)
      }
    }
    const { send } = await start(t, await stageOf(t, 'mask'), {
      coordination: {
        answers,
        load: () => ({
          isUnreachable: false,
          decidedAlone: 0,
          commands: { bounds: [], counts: [0], sum: 0 }
        }),
        cooldowns: { listen: () => undefined, report: () => undefined },
        notifyOfTasks: () => undefined,
        onTasks: () => undefined
      }
    })
    for (const [id, protocol] of Object.entries(protocols)) {
      for (const [name, { path, request, textsOf }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const body = { ...takenBy(protocol, request(modelAt(id, protocol), word)), stream }
          const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}`
          await (await send(path, body)).text()
          const hit = await eventually(
            async () => await send(path, body),
            response => response.headers.get('x-headgate-cache') === 'hit',
            `${title}: a hit`
          )
          const text = await hit.text()
          for (const one of [text, ...textsOf(stream ? messagesIn(text) : [JSON.parse(text) as Json])]) {
            t.notOk(holdsWord(one), title)
          }
          t.ok(text.includes('[island]'), title)
        }
      }
    }
    t.ok(texts.length >= 20, `${texts.length} texts`)
    for (const text of texts) t.notOk(/Zanzibar|island|choices/.test(text), 'an entry is encrypted')
  })
}

/** Names and ids that a provider must receive unchanged, and values that are not text. */
const unseen =
  /name$|server_label$|tool_use_id$|file_data$|redacted_thinking\)\.data$|encrypted_content$|tool_choice\(allowed_tools\)/

const everyText = new PlaceTable({ '**': textPlace })
const compacts = ['others', 'openai/m-codex'] as const

const minimal: ReadonlyArray<
  readonly [
    path: string,
    schema: TSchema,
    places: PlaceTable,
    base: Json,
    /** The providers that are called. */
    ids: ReadonlyArray<keyof typeof protocols> | readonly ['others', model: string]
  ]
> = [
  [
    '/v1/chat/completions',
    ChatRequest,
    chatRequestTexts,
    { messages: [{ role: 'user', content: 'hi' }] },
    ['chat']
  ],
  ['/v1/completions', TextCompletionRequest, completionRequestTexts, { prompt: 'hi' }, ['anthropic']],
  [
    '/v1/messages',
    MessagesRequest,
    messagesRequestTexts,
    { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 },
    ['anthropic', 'chat']
  ],
  [
    '/v1/messages/count_tokens',
    CountTokensRequest,
    messagesRequestTexts,
    { messages: [{ role: 'user', content: 'hi' }] },
    ['anthropic']
  ],
  [
    '/v1/responses',
    ResponsesRequest,
    responsesRequestTexts,
    { input: 'hi', store: false },
    ['responses', 'chat']
  ],
  ['/v1/responses/input_tokens', ResponsesRequest, responsesRequestTexts, { input: 'hi' }, compacts],
  ['/v1/responses/compact', CompactRequest, responsesRequestTexts, { input: 'hi' }, compacts],
  ['/v1/embeddings', EmbeddingsRequest, embeddingsRequestTexts, { input: 'hi' }, ['others', 'openai/m']],
  [
    '/v1/audio/speech',
    SpeechRequest,
    speechRequestTexts,
    { input: 'hi', voice: 'alloy' },
    ['others', 'openai/gpt-4o-mini-tts']
  ],
  [
    '/v1/images/generations',
    ImageRequest,
    imageRequestTexts,
    { prompt: 'hi' },
    ['others', 'openai/gpt-image-1']
  ],
  [
    '/v1/ocr',
    OcrRequest,
    everyText,
    { document: { document_url: 'https://example.com/a.pdf' } },
    ['others', 'mistral/mistral-ocr-latest']
  ],
  [
    '/v1/audio/transcriptions',
    TranscriptionRequest,
    everyText,
    { file: new File([new Uint8Array(wav)], 'a.wav') },
    ['others', 'openai/whisper-1']
  ],
  [
    '/v1/audio/translations',
    TranslationRequest,
    everyText,
    { file: new File([new Uint8Array(wav)], 'a.wav') },
    ['others', 'openai/whisper-1']
  ],
  [
    '/v1/images/edits',
    ImageEditRequest,
    everyText,
    { prompt: 'hi', image: image('a') },
    ['others', 'openai/gpt-image-1']
  ],
  [
    '/v1/images/variations',
    ImageVariationRequest,
    everyText,
    { image: image('a') },
    ['others', 'openai/dall-e-2']
  ]
]

t.test('each documented request is in the table', async t => {
  const documented = endpointDocs.filter(
    ({ method, path, request }) => method === 'POST' && path.startsWith('/v1/') && request !== undefined
  )
  for (const { path, request } of documented) {
    t.equal(minimal.find(([to]) => to === path)?.[1], request?.schema, path)
  }
  t.equal(minimal.length, documented.length)
})

t.test('a word in any string of the schemas is not sent, except in names, ids and files', async t => {
  const started = await start(t, await kinds.pattern(t, 'mask'))
  for (const [path, schema, places, base, ids] of minimal) {
    const asked: ReadonlyArray<readonly [string, string]> =
      ids[0] === 'others'
        ? [[ids[0], ids[1] ?? '']]
        : ids.map(id => [id, modelAt(id, protocols[id as keyof typeof protocols])]) // its own key
    for (const [turn, [id, model]] of asked.entries()) {
      let sent = 0
      for (const [index, { path: place, value, isSeen }] of valuesWith(word, schema, places).entries()) {
        if (!allRounds && index % asked.length !== turn) continue // each place at one of the providers
        const upstream = started.upstreams[id]
        const before = upstream?.requests.length
        const response = await started.send(path, {
          ...base,
          ...(value as Json),
          ...!place.startsWith('.model') && { model }
        })
        const text = await response.text()
        const requests = upstream?.requests.slice(before) ?? []
        sent += requests.length
        for (const request of requests) {
          if (isSeen || !unseen.test(place)) {
            t.notOk(
              holdsWord(request.path + request.text),
              `${path} at ${id}: ${place}: ${request.text.slice(0, 500)}`
            )
          }
        }
        t.not(response.status, 500, `${path} at ${id}: ${place}: ${text.slice(0, 300)}`)
      }
      t.ok(sent > (id === 'others' ? 0 : 5), `${path} at ${id}: ${sent} sent`)
    }
  }
})

/** A turn that calls a tool, in each protocol. */
const toolTurns: Readonly<
  Record<
    'chat' | 'responses' | 'anthropic' | 'google',
    (place: string) => Pick<Protocol, 'complete' | 'frames'>
  >
> = {
  chat: place => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'look', arguments: JSON.stringify({ place }) }
    }
    const chunk = (delta: Json, finish: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    return {
      complete: {
        id: 'c1',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            message: { role: 'assistant', content: null, tool_calls: [call] }
          }
        ]
      },
      frames: [
        chunk({ role: 'assistant', tool_calls: [{ index: 0, ...call }] }),
        chunk({}, 'tool_calls'),
        'data: [DONE]\n\n'
      ]
    }
  },
  responses: place => {
    const item = {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'look',
      arguments: JSON.stringify({ place })
    }
    const response = completedResponse([item])
    const frames = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
      {
        type: 'response.function_call_arguments.delta',
        output_index: 0,
        item_id: 'fc_1',
        delta: item.arguments
      },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response }
    ]
    return {
      complete: response,
      frames: frames.map(
        (frame, at) => `event: ${frame.type}\ndata: ${JSON.stringify({ ...frame, sequence_number: at })}\n\n`
      )
    }
  },
  anthropic: place => {
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { place } }],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 }
    }
    const frames = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: JSON.stringify({ place }) }
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 1 }
      },
      { type: 'message_stop' }
    ]
    return {
      complete: message,
      frames: frames.map(frame => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`)
    }
  },
  google: place => {
    const complete = {
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [{ functionCall: { name: 'look', args: { place } } }] },
          finishReason: 'STOP'
        }
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
    }
    return { complete, frames: [`data: ${JSON.stringify(complete)}\n\n`] }
  }
}

const patient = { connectMs: 20_000, callMs: 20_000, loopMs: 60_000 }

for (const [kind, stageOf] of Object.entries(kinds)) {
  for (const action of ['mask', 'refuse', 'report'] as const) {
    t.test(
      `${kind}: arguments and results of server tools are inspected separately (${action})`,
      async t => {
        const stage = await stageOf(t, action)
        for (const at of ['tool_call', 'tool_result'] as const) {
          for (const [id, turnOf] of Object.entries(toolTurns)) {
            const tools = await startToolServer(t, {
              more: ['look'],
              says: at === 'tool_result' ? word : ''
            })
            const protocol = protocols[id as keyof typeof toolTurns] // its own key
            const turn = scriptOf({ ...protocol, ...turnOf(at === 'tool_call' ? word : 'here') })
            const upstream = await fakeUpstream((request, number) =>
              number % 2 === 0 ? turn(request) : scriptOf(protocol)(request)
            )
            t.teardown(upstream.close)
            const api = await testGateway(t, {
              providers: [{ ...protocol.provider(upstream.url), id }],
              // The first call loads the MCP client, which takes longer on a busy machine.
              tools: { ...settings().tools, ...patient, allowedHosts: ['127.0.0.1'] },
              guards: [{ ...stage, at: [at] }]
            })
            for (const [name, { path }] of Object.entries({
              chat: dialects.chat,
              responses: dialects.responses
            })) {
              for (const stream of [false, true]) {
                upstream.requests.length = 0
                const title = `${at}, ${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}`
                const asked =
                  name === 'chat'
                    ? { messages: [{ role: 'user', content: 'hi' }] }
                    : { input: 'hi', store: false }
                const response = await api.post(path, {
                  model: modelAt(id, protocol),
                  ...asked,
                  stream,
                  mcp_servers: [tools.url],
                  max_turns: 2
                })
                const text = await response.text()
                const [, second] = upstream.requests
                if (action === 'mask') {
                  t.equal(response.status, 200, `${title}: ${text.slice(0, 300)}`)
                  t.match(second?.text, /\[island\]/, title)
                  t.notOk(holdsWord(second?.text ?? word), `${title}: ${second?.text}`)
                } else if (action === 'report') {
                  t.equal(response.status, 200, `${title}: ${text.slice(0, 300)}`)
                  t.ok(holdsWord(second?.text ?? ''), title)
                  const { findings } = api.lines.findLast(({ msg }) => msg === 'call') ?? {}
                  t.match(findings, [{ stage: 'islands', point: at, action: 'report' }], title)
                } else {
                  t.equal(second, undefined, title)
                  t.notOk(holdsWord(text), `${title}: ${text}`)
                  t.match(text, /The guard `islands` refused this call: it contains island\./, title)
                  if (at === 'tool_call') {
                    t.equal(tools.counts['tool look'], undefined, `${title}: no tool runs`)
                  }
                }
              }
            }
          }
        }
      }
    )
  }
}

/** Arguments and results of provider tools, in each protocol. */
const hostedResults: Readonly<Record<'anthropic' | 'responses', Pick<Protocol, 'complete' | 'frames'>>> = {
  anthropic: (() => {
    const content = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: word } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [
          {
            type: 'web_search_result',
            url: `https://example.com/${word}`,
            title: word,
            encrypted_content: 'eA=='
          }
        ]
      },
      {
        type: 'code_execution_tool_result',
        tool_use_id: 'srvtoolu_2',
        content: {
          type: 'code_execution_result',
          stdout: word,
          stderr: word,
          return_code: 0,
          content: []
        }
      },
      { type: 'text', text: `I read of ${word}.` }
    ]
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content,
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 }
    }
    const frames = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      ...content.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index }
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 1 }
      },
      { type: 'message_stop' }
    ]
    return {
      complete: message,
      frames: frames.map(frame => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`)
    }
  })(),
  responses: (() => {
    const output = [
      {
        type: 'web_search_call',
        id: 'ws_1',
        status: 'completed',
        action: { type: 'search', query: word },
        results: [{ url: `https://example.com/${word}`, title: word }]
      },
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        status: 'completed',
        container_id: 'c_1',
        code: `print("${word}")`,
        outputs: [{ type: 'logs', logs: word }]
      },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: `I read of ${word}.`, annotations: [], logprobs: [] }]
      }
    ]
    const response = completedResponse(output)
    const frames = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      ...output.flatMap((item, index) => [
        { type: 'response.output_item.added', output_index: index, item: { ...item, status: 'in_progress' } },
        ...item.type === 'code_interpreter_call'
          ? ['print("Zan', 'zibar")'].map(delta => ({
              type: 'response.code_interpreter_call_code.delta',
              output_index: index,
              item_id: item.id,
              delta
            }))
          : [],
        ...item.type === 'message'
          ? ['I read of Zanzi', 'bar.'].map(delta => ({
              type: 'response.output_text.delta',
              output_index: index,
              content_index: 0,
              item_id: item.id,
              delta
            }))
          : [],
        { type: 'response.output_item.done', output_index: index, item }
      ]),
      { type: 'response.completed', response }
    ]
    return {
      complete: response,
      frames: frames.map(
        (frame, at) => `event: ${frame.type}\ndata: ${JSON.stringify({ ...frame, sequence_number: at })}\n\n`
      )
    }
  })()
}

for (const [kind, stageOf] of Object.entries(kinds)) {
  for (const action of ['mask', 'refuse', 'report'] as const) {
    t.test(
      `${kind}: arguments and results of provider tools are inspected in every dialect (${action})`,
      async t => {
        for (const [id, results] of Object.entries(hostedResults)) {
          const protocol = { ...protocols[id as keyof typeof hostedResults], ...results } // its own key
          const upstream = await fakeUpstream(scriptOf(protocol))
          t.teardown(upstream.close)
          const api = await testGateway(t, {
            providers: [{ ...protocol.provider(upstream.url), id }],
            guards: [await stageOf(t, action)]
          })
          for (const [name, { path, request, textsOf }] of Object.entries(dialects)) {
            for (const stream of [false, true]) {
              const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}`
              const asked = takenBy(protocol, request(modelAt(id, protocol), 'there'))
              const answer = await api.post(path, { ...asked, stream })
              const text = await answer.text()
              if (action === 'refuse') {
                t.match(text, /The guard `islands` refused this call: it contains island\./, title)
                t.notOk(holdsWord(text), `${title}: ${text.slice(0, 800)}`)
                continue
              }
              t.equal(answer.status, 200, `${title}: ${text.slice(0, 500)}`)
              const texts = textsOf(stream ? messagesIn(text) : [JSON.parse(text) as Json])
              const ownResult = { anthropic: 'messages', responses: 'responses' }[id]
              if (action === 'report') {
                t.ok(texts.some(holdsWord), title)
                const { findings } = api.lines.findLast(({ msg }) => msg === 'call') ?? {}
                const found = findings as ReadonlyArray<{ point: string }> | undefined
                if (name === ownResult) t.ok(found?.some(({ point }) => point === 'tool_result'), title)
                else t.ok(found?.some(({ point }) => point === 'answer'), title)
                continue
              }
              for (const one of [text, ...texts]) {
                t.notOk(holdsWord(one), `${title}: ${one.slice(0, 800)}`)
              }
              t.ok(text.includes('[island]'), title)
              if (name === ownResult) t.match(text, /(?:stdout|logs)":\s*"\[island\]/, title)
            }
          }
        }
      }
    )
  }
}

t.test('of a duplicate member in an answer, the value that was not inspected is removed', async t => {
  const hidden = (text: string): string => `"${text}":"Zanzibar","${text}":"there"`
  const message = `{"id":"m","type":"message","role":"assistant","model":"m",${hidden('x_new')},"content":[{"type":"text",${hidden('text')}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
  const output = `[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],${hidden('text')}}]}]`
  const response = `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed",${hidden('x_new')},"output":${output},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}`
  const events: Readonly<Record<'messages' | 'responses', readonly string[]>> = {
    messages: [
      '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta",${hidden('text')}}}`,
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Zanzibar"},"delta":{"type":"text_delta","text":"there"}}',
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}',
      '{"type":"message_stop"}'
    ],
    responses: [
      '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}',
      `{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":0,"content_index":0,${hidden('delta')}}`,
      `{"type":"response.completed","sequence_number":2,"response":${response}}`
    ]
  }
  const upstream = await fakeUpstream(({ path, json }) => {
    const name = path.includes('messages') ? 'messages' : 'responses'
    return (json as Json)['stream'] === true
      ? {
          headers: { 'content-type': 'text/event-stream' },
          pieces: events[name].map(data => `event: ${String((JSON.parse(data) as Json)['type'])}\ndata: ${data}\n\n`)
        }
      : {
          headers: { 'content-type': 'application/json' },
          pieces: [name === 'messages' ? message : response]
        }
  })
  t.teardown(upstream.close)
  const providers = [upstreamAt(upstream.url), upstreamAt(upstream.url, 'anthropic', 'anthropic')]
  for (const [kind, stageOf] of Object.entries(kinds)) {
    const api = await testGateway(t, { providers, guards: [await stageOf(t, 'mask')] })
    for (const stream of [false, true]) {
      for (const [path, body] of Object.entries({
        '/v1/messages': { ...asks('anthropic/m', 'there'), max_tokens: 9 },
        '/v1/responses': { model: 'openai/m-codex', input: 'in there', store: false }
      })) {
        const title = `${kind}, ${path}, ${stream ? 'streamed' : 'complete'}`
        const answer = await api.post(path, { ...body, stream })
        const text = await answer.text()
        t.equal(answer.status, 200, title)
        t.notOk(holdsWord(text), `${title}: ${text.slice(0, 800)}`)
        t.match(text, 'there', title)
      }
    }
  }
})
