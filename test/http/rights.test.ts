/** A key's scope is checked against the model that will be called, however the call names it. */

import t, { type Test } from 'tap'
import { encodePng } from '../../lib/sandbox/png.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { wavOf } from '../support/forms.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { Database } from '../../lib/stores/database.ts'
import { testGateway, testKey, upstreamAt } from '../support/gateway.ts'
import { createEndpoints } from '../../pipelines/index.ts'
import { modelSettings } from '../support/settings.ts'
import { chatAnswer, fakeUpstream, type Script } from '../support/upstream.ts'

const picture = await encodePng(
  paint({ text: 'x', number: 0, width: 8, height: 8, transparent: false, squares: 4 })
)
const image: Script = { pieces: ['{"created":1,"data":[{"b64_json":"AAAA"}]}'] }
const transcript: Script = { pieces: ['{"text":"x"}'] }

/** An answer in Anthropic's dialect. */
const compacted: Script = {
  pieces: [
    '{"id":"resp_1","object":"response.compaction","created_at":1,"output":[],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}'
  ]
}
const message: Script = {
  pieces: [
    '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}'
  ]
}

interface EndpointCase {
  readonly path: string
  readonly allowed: string
  readonly forbidden: string
  readonly body: Readonly<Record<string, unknown>>
  readonly file?: readonly [field: string, bytes: Buffer]
  readonly answer: Script
  /** False if the gateway answers by itself. Default: true. */
  readonly isSent?: boolean
}

/** Every endpoint that takes a model. Models are named as at the provider of the endpoint. */
const endpoints: readonly EndpointCase[] = [
  {
    path: 'chat/completions',
    allowed: 'gpt-4o-mini',
    forbidden: 'gpt-4o',
    body: { messages: 'x' },
    answer: { pieces: [chatAnswer('x')] }
  },
  {
    path: 'completions',
    allowed: 'gpt-4o-mini',
    forbidden: 'gpt-4o',
    body: { prompt: 'x' },
    answer: { pieces: [chatAnswer('x')] }
  },
  {
    path: 'messages',
    allowed: 'claude-haiku-4-5',
    forbidden: 'claude-opus-4-6',
    body: { max_tokens: 10, messages: [{ role: 'user', content: 'x' }] },
    answer: message
  },
  {
    path: 'messages/count_tokens',
    allowed: 'claude-haiku-4-5',
    forbidden: 'claude-opus-4-6',
    body: { messages: [{ role: 'user', content: 'x' }] },
    answer: { pieces: ['{"input_tokens":5}'] }
  },
  {
    path: 'responses',
    allowed: 'gpt-4o-mini',
    forbidden: 'gpt-4o',
    body: { input: 'x', store: false },
    answer: { pieces: [chatAnswer('x')] }
  },
  {
    path: 'responses/compact',
    allowed: 'gpt-4o-mini',
    forbidden: 'gpt-4o',
    body: { input: 'x' },
    answer: compacted
  },
  {
    path: 'responses/input_tokens',
    allowed: 'gpt-4o-mini',
    forbidden: 'gpt-4o',
    body: { input: 'x' },
    answer: { pieces: [chatAnswer('x')] },
    isSent: false
  },
  {
    path: 'embeddings',
    allowed: 'text-embedding-3-small',
    forbidden: 'text-embedding-3-large',
    body: { input: 'x' },
    answer: { pieces: ['{"data":[{"index":0,"embedding":[1]}]}'] }
  },
  {
    path: 'audio/speech',
    allowed: 'tts-1',
    forbidden: 'tts-1-hd',
    body: { input: 'x', voice: 'alloy' },
    answer: { headers: { 'content-type': 'audio/mpeg' }, pieces: ['sound'] }
  },
  {
    path: 'audio/transcriptions',
    allowed: 'whisper-1',
    forbidden: 'gpt-4o-transcribe',
    body: {},
    file: ['file', wavOf(0.1)],
    answer: transcript
  },
  {
    path: 'audio/translations',
    allowed: 'whisper-1',
    forbidden: 'whisper-2',
    body: {},
    file: ['file', wavOf(0.1)],
    answer: transcript
  },
  {
    path: 'images/generations',
    allowed: 'dall-e-2',
    forbidden: 'gpt-image-1',
    body: { prompt: 'x' },
    answer: image
  },
  {
    path: 'images/edits',
    allowed: 'dall-e-2',
    forbidden: 'gpt-image-1',
    body: { prompt: 'x' },
    file: ['image', picture],
    answer: image
  },
  {
    path: 'images/variations',
    allowed: 'dall-e-2',
    forbidden: 'dall-e-9',
    body: {},
    file: ['image', picture],
    answer: image
  },
  {
    path: 'ocr',
    allowed: 'mistral-ocr-latest',
    forbidden: 'mistral-ocr-2512',
    body: { document: { document_url: 'https://example.com/a.pdf' } },
    answer: { pieces: ['{"pages":[{"index":0,"markdown":"x"}]}'] }
  }
]

/** These requests name no model. */
const bodiless = new Set(['/v1/responses/:response_id/cancel'])

t.test('every endpoint that takes a body is in this table', async t => {
  const { services } = (await testGateway(t, {})).gateway
  const paths = createEndpoints(services)
    .filter(({ name, method, path }) => name !== 'admin' && method === 'POST' && !bodiless.has(path))
    .map(({ path }) => path)
  t.same(paths.toSorted(), endpoints.map(({ path }) => `/v1/${path}`).toSorted())
})

async function openStore (t: Test): Promise<Database> {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  return database
}

/** Responses are sent as chat completions, which is what the fake answers. */
const chatOnly = { quirks: { responsesApi: false } }

interface Attempt {
  readonly model: unknown
  readonly headers?: Readonly<Record<string, string>>
}

for (const { path, allowed, forbidden, body, file, answer, isSent = true } of endpoints) {
  t.test(`/v1/${path} calls only models that the key may use`, async t => {
    const upstream = await fakeUpstream(answer)
    t.teardown(upstream.close)
    const owner = path === 'ocr' ? 'mistral' : path.startsWith('messages') ? 'anthropic' : 'openai'
    const other = owner === 'openai' ? 'mistral' : 'openai'
    const parts = path === 'responses/compact' ? {} : chatOnly
    const [good, bad, off] = [`${owner}/${allowed}`, `${owner}/${forbidden}`, `${owner}/off`]
    const api = await testGateway(
      t,
      {
        providers: [
          upstreamAt(`${upstream.url}/v1`, owner, owner, parts),
          upstreamAt(`${upstream.url}/v1`, other, other, parts),
          upstreamAt(`${upstream.url}/v1`, 'twin', owner, parts)
        ],
        models: [
          modelSettings(off, { status: 'disabled' }),
          modelSettings('nick', { alias: bad }),
          modelSettings(`${owner}/nick`, { alias: `twin/${allowed}` })
        ],
        routes: [
          { name: 'both', models: [good, bad] },
          { name: 'bad', models: [bad] }
        ],
        deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
      },
      {
        one: { id: 'key-2', name: 'one model', models: [good] },
        provider: { id: 'key-3', name: 'one provider', models: [`${owner}/*`] },
        route: { id: 'key-4', name: 'a route by its name', models: ['bad'] }
      },
      { ...path === 'responses' && { database: await openStore(t) } }
    )
    const send = async (
      key: string,
      { model, headers = {} }: Attempt,
      more: object = {}
    ): Promise<number> => {
      const fields = { ...body, model, ...more }
      if (file === undefined) {
        return (
          await api.post(`/v1/${path}`, fields, { headers: { authorization: `Bearer ${key}`, ...headers } })
        ).status
      }
      const form = new FormData()
      for (const [name, value] of Object.entries(fields)) {
        for (const item of [value].flat()) form.append(name, String(item))
      }
      form.append(file[0], new File([new Uint8Array(file[1])], 'a.wav'))
      return (
        await fetch(`${api.url}/v1/${path}`, {
          method: 'POST',
          body: form,
          headers: { 'x-api-key': key, ...headers }
        })
      ).status
    }
    const calledModels = (): string[] =>
      upstream.requests
        .splice(0)
        .map(
          ({ text }) =>
            [allowed, forbidden].find(name => text.includes(`${name}"`) || text.includes(`${name}\r\n`)) ??
            text
        )

    const own = { 'x-provider-key': 'sk-of-the-caller' }
    const refused: ReadonlyArray<readonly [how: string, key: string, attempt: Attempt]> = [
      ['by its id', 'one', { model: bad }],
      ['by an alias', 'one', { model: 'nick' }],
      ['by a route', 'one', { model: 'bad' }],
      [
        'by X-Provider-Model',
        'one',
        { model: good, headers: { 'x-provider': owner, 'x-provider-model': forbidden } }
      ],
      ['by X-Provider', 'one', { model: good, headers: { 'x-provider': 'twin' } }],
      [
        'by X-Provider, with a right to all of another provider',
        'provider',
        { model: `${owner}/x`, headers: { 'x-provider': other } }
      ],
      [
        'by both headers, with a right to all of another provider',
        'provider',
        { model: good, headers: { 'x-provider': 'twin', 'x-provider-model': allowed } }
      ],
      ['by an alias named like a model of an allowed provider', 'provider', { model: `${owner}/nick` }],
      [
        'by a header, with a right to a route only',
        'route',
        { model: 'bad', headers: { 'x-provider': owner, 'x-provider-model': 'else' } }
      ],
      ['with a provider key of its own', 'one', { model: bad, headers: own }],
      [
        'with a provider key of its own, by header',
        'one',
        { model: good, headers: { ...own, 'x-provider': owner, 'x-provider-model': forbidden } }
      ],
      ['in a dry run', 'one', { model: bad, headers: { 'x-headgate-dry-run': 'true' } }],
      [
        'in a dry run, by header',
        'one',
        {
          model: good,
          headers: { 'x-headgate-dry-run': 'true', 'x-provider': owner, 'x-provider-model': forbidden }
        }
      ]
    ]
    for (const [how, key, attempt] of refused) {
      t.equal(await send(key, attempt), 403, how)
      t.same(calledModels(), [], `${how}: no provider is called`)
    }
    const elsewhere: ReadonlyArray<readonly [how: string, key: string, attempt: Attempt]> = [
      ['in a list, in whatever place', 'one', { model: [good, bad] }],
      ['in a list, first', 'one', { model: [bad, good] }],
      ['with settings', 'one', { model: { model: bad, settings: {} } }],
      ['a snapshot of a model that the operator disabled', 'provider', { model: `${off}-2025-08-07` }],
      [
        'a snapshot of such a model, by header',
        testKey,
        { model: good, headers: { 'x-provider': owner, 'x-provider-model': 'off-2025-08-07' } }
      ]
    ]
    for (const [how, key, attempt] of elsewhere) {
      const status = await send(key, attempt)
      t.ok([400, 403, 404, 422].includes(status), `${how}: ${status}`)
      t.same(calledModels(), [], `${how}: no provider is called`)
    }
    if (path === 'responses') {
      t.equal(await send('one', { model: bad }, { background: true, store: true }), 403, 'in the background')
    }
    if (path === 'chat/completions') {
      const byHeader = { model: good, headers: { 'x-provider': owner, 'x-provider-model': forbidden } }
      t.equal(await send('one', { model: [good, bad] }), 403, 'in a list')
      t.equal(
        await send('one', { model: { model: bad, settings: { temperature: 0 } } }),
        403,
        'with settings'
      )
      t.equal(await send('one', byHeader, { deferred: true }), 403, 'deferred, by header')
      t.equal(await send('one', { model: bad }, { deferred: true }), 403, 'deferred')
      t.same(calledModels(), [])
    }

    t.equal(await send('one', { model: good }), 200, 'the model of the key')
    t.same(calledModels(), isSent ? [allowed] : [])
    t.equal(await send('one', { model: 'both' }), 200, 'a route, with the models the key may use')
    t.same(calledModels(), isSent ? [allowed] : [])
    t.equal(await send('route', { model: 'bad' }), 200, 'a route that the key lists by its name')
    t.same(calledModels(), isSent ? [forbidden] : [])
    t.equal(await send(testKey, { model: bad }), 200, 'a key without patterns')
    t.same(calledModels(), isSent ? [forbidden] : [])
  })
}
