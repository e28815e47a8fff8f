import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { endpointsWhere, type EndpointName } from '../../schemas/endpoints.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream } from '../support/upstream.ts'
import { wav } from '../support/audio.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const word = 'Zanzibar'
const points: GuardSettings['at'] = ['request', 'answer', 'tool_call', 'tool_result']
const stage = (name: string, parts: Partial<GuardSettings> = {}): GuardSettings => ({
  name,
  use: 'pattern',
  at: points,
  action: 'mask',
  patterns: [{ name, match: word, maxLength: 8 }],
  ...parts
})
const asked = stage('asked', { when: 'asked' })
const ofSupport = stage('of-support', { when: 'asked', only: { projects: ['support'] } })
const ofSpeech = stage('of-speech', { only: { endpoints: ['speech'], keys: ['key-1'] } })

const keys: Readonly<Record<string, ApiKey>> = {
  bound: { id: 'key-2', name: 'bound', guards: ['asked'] },
  support: { id: 'key-3', name: 'support', project: { id: 'p1', name: 'support' } },
  lost: { id: 'key-4', name: 'lost', guards: ['asked', 'gone'] }
}

async function start (
  t: Test,
  parts: Partial<Settings> = {},
  more: Partial<GatewayOptions> = {}
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(() => ({ pieces: [chatAnswer(`I went to ${word}.`)] }))
  t.teardown(upstream.close)
  const provider = upstreamAt(upstream.url, 'openai', 'openai', { quirks: { responsesApi: false } })
  const guards = [asked, ofSupport, ofSpeech]
  return { upstream, api: await testGateway(t, { providers: [provider], guards, ...parts }, keys, more) }
}

const question = { model: 'openai/m', messages: [{ role: 'user', content: `Where is ${word}?` }] }
const path = '/v1/chat/completions'
const as = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } })

async function said (response: Response): Promise<string> {
  const {
    choices: [
      {
        message: { content }
      }
    ]
  } = (await response.json()) as { choices: [{ message: { content: string } }] }
  return content
}

t.test('an optional guard inspects only calls that ask for it', async t => {
  const { upstream, api } = await start(t)
  for (const guardrails of [undefined, null, [], [{ foo: 'bar' }]]) {
    const response = await api.post(path, { ...question, guardrails })
    t.equal(response.headers.get('x-headgate-stages'), null)
    t.equal(await said(response), `I went to ${word}.`, JSON.stringify(guardrails))
  }
  t.match(upstream.requests.at(-1)?.text, word)
  for (const guardrails of [['asked'], [{ guardrail_name: 'asked', more: 1 }], ['asked', 'asked']]) {
    const response = await api.post(path, { ...question, guardrails })
    t.equal(response.headers.get('x-headgate-stages'), 'asked')
    t.equal(await said(response), 'I went to [asked].', JSON.stringify(guardrails))
    t.match(upstream.requests.at(-1)?.json, { messages: [{ content: 'Where is [asked]?' }] })
    t.notMatch(upstream.requests.at(-1)?.text, 'guardrail')
  }
})

t.test('a guard required by a key inspects all of its calls, whatever they ask for', async t => {
  const { upstream, api } = await start(t)
  for (const guardrails of [undefined, [], ['asked']]) {
    const response = await api.post(path, { ...question, guardrails }, as('bound'))
    t.equal(await said(response), 'I went to [asked].')
    t.notMatch(upstream.requests.at(-1)?.text, word)
  }
  const streamed = await (
    await api.post('/v1/messages', { ...question, max_tokens: 9, stream: true }, as('bound'))
  ).text()
  t.notMatch(streamed, word)
})

t.test('a key may ask for the guards of its project and its own name', async t => {
  const { api } = await start(t)
  t.equal(
    await said(await api.post(path, { ...question, guardrails: ['of-support'] }, as('support'))),
    'I went to [of-support].'
  )
  t.equal(
    await said(await api.post(path, { ...question, guardrails: ['of-speech'] })),
    'I went to [of-speech].',
    'at another endpoint as well'
  )
  for (const [name, key] of [
    ['of-support', testKey],
    ['of-speech', 'support'],
    ['unknown', testKey],
    [{ guardrail_name: 7 }, testKey]
  ] as const) {
    const response = await api.post(path, { ...question, guardrails: ['asked', name] }, as(key))
    t.equal(response.status, 422)
    t.match(await response.json(), {
      detail: [{ loc: ['body', 'guardrails', 1], msg: /must be the name of a guard/ }],
      error: { param: 'guardrails[1]' }
    })
  }
})

t.test('an answer does not name its guards if so configured', async t => {
  const { server } = settings()
  const { api } = await start(t, { server: { ...server, exposeStages: false } })
  const response = await api.post(path, { ...question, guardrails: ['asked'] })
  t.equal(response.headers.get('x-headgate-stages'), null)
  t.equal(await said(response), 'I went to [asked].')
})

t.test('a dry run lists the named guards', async t => {
  const { api } = await start(t)
  const dry = { 'x-headgate-dry-run': 'true' }
  const names = async (body: object, key: string): Promise<string[]> => {
    const response = await api.post(path, body, { headers: { ...dry, authorization: `Bearer ${key}` } })
    return ((await response.json()) as { stages: Array<{ name: string }> }).stages.map(({ name }) => name)
  }
  t.same(await names(question, testKey), [])
  t.same(await names(question, 'bound'), ['asked'])
  t.same(await names({ ...question, guardrails: ['of-speech', 'asked'] }, testKey), ['asked', 'of-speech'])
})

t.test(
  'deferred completions and background responses are inspected by the requested guards',
  async t => {
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    const deferrals = { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
    const { api } = await start(t, { deferred: deferrals }, { database })
    const deferred = await api.post(path, { ...question, deferred: true, guardrails: ['asked'] })
    t.equal(deferred.status, 200)
    const { request_id: id } = (await deferred.json()) as { request_id: string }
    const fetched = async (at: string, isDone: (body: string) => boolean): Promise<string> => {
      for (;;) {
        const response = await api.get(at)
        const body = await response.text()
        if (response.status !== 202 && isDone(body)) return body
      }
    }
    const completion = await fetched(`/v1/chat/deferred-completion/${id}`, () => true)
    t.match(completion, 'I went to [asked].')
    t.notMatch(completion, word)
    const begun = await api.post('/v1/responses', {
      model: 'openai/m',
      input: `in ${word}`,
      background: true,
      guardrails: ['asked']
    })
    const { id: response } = (await begun.json()) as { id: string }
    const done = await fetched(
      `/v1/responses/${response}`,
      body => !/"status":"(?:queued|in_progress)"/.test(body)
    )
    t.match(done, 'I went to [asked].')
    t.notMatch(done, word)
  }
)

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64'
)
const image = (name = 'image') => ({ [name]: new File([png], 'a.png', { type: 'image/png' }) })
const recording = { file: new File([new Uint8Array(wav)], 'a.wav') }
const prompt = { model: 'openai/m', messages: question.messages }

/** Requests of every text endpoint; one with a file is sent as a form. */
const requests: {
  readonly [N in EndpointName]?: ReadonlyArray<
    readonly [path: string, body: Readonly<Record<string, unknown>>]
  >
} = {
  chat: [[path, prompt]],
  completions: [['/v1/completions', { model: 'openai/m', prompt: 'a' }]],
  messages: [
    ['/v1/messages', { ...prompt, max_tokens: 9 }],
    ['/v1/messages/count_tokens', prompt]
  ],
  responses: [
    ['/v1/responses', { model: 'openai/m', input: 'a' }],
    ['/v1/responses/input_tokens', { model: 'openai/m', input: 'a' }],
    ['/v1/responses/compact', { model: 'openai/m', input: 'a' }]
  ],
  embeddings: [['/v1/embeddings', { model: 'openai/m', input: 'a' }]],
  speech: [['/v1/audio/speech', { model: 'openai/m', input: 'a', voice: 'alloy' }]],
  transcriptions: [['/v1/audio/transcriptions', { model: 'openai/m', ...recording }]],
  translations: [['/v1/audio/translations', { model: 'openai/m', ...recording }]],
  images: [
    ['/v1/images/generations', { model: 'openai/gpt-image-1', prompt: 'a' }],
    ['/v1/images/edits', { model: 'openai/gpt-image-1', prompt: 'a', ...image() }],
    ['/v1/images/variations', { model: 'openai/dall-e-2', ...image() }]
  ],
  ocr: [['/v1/ocr', { model: 'openai/m', document: { document_url: 'https://example.com/a.pdf' } }]]
}

async function send (
  api: TestGateway,
  to: string,
  body: Readonly<Record<string, unknown>>,
  key: string
): Promise<Response> {
  if (!Object.values(body).some(value => value instanceof File)) return await api.post(to, body, as(key))
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    form.append(name, value instanceof File ? value : String(value))
  }
  return await fetch(api.url + to, { method: 'POST', body: form, ...as(key) })
}

t.test(
  'every text endpoint refuses calls whose key requires a missing guard, and unknown names',
  async t => {
    const { upstream, api } = await start(t)
    t.same(Object.keys(requests).toSorted(), endpointsWhere('hasTexts').toSorted())
    for (const [to, body] of Object.values(requests).flat()) {
      const refused = await send(api, to, body, 'lost')
      t.equal(refused.status, 503, to)
      t.match(
        await refused.text(),
        /Calls of this key must be inspected by the guard `gone`, which is not in the configuration/,
        to
      )
      const hasFile = Object.values(body).some(value => value instanceof File)
      const unknown = await send(
        api,
        to,
        { ...body, guardrails: hasFile ? 'unknown' : ['unknown'] },
        testKey
      )
      t.equal(unknown.status, /messages|responses/.test(to) ? 400 : 422, to)
      t.match(await unknown.text(), /guardrails/, to)
      if (hasFile) continue
      const misshapen = await send(api, to, { ...body, guardrails: 7 }, testKey)
      t.equal(misshapen.status, unknown.status, to)
      t.match(await misshapen.text(), /list|null/, `${to}: by its schema`)
    }
    t.equal(upstream.requests.length, 0, 'nothing was sent')
  }
)
