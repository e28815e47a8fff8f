import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { grammarOf } from '../support/abnf.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script
} from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { wavOf } from '../support/forms.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { codes } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { modelSettings } from '../support/settings.ts'
import type { Settings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'
const dry = { headers: { 'x-headgate-dry-run': 'true' } }
const busy: Script = { status: 500, pieces: ['{}'] }

interface Routed {
  readonly api: TestGateway
  readonly openai: FakeUpstream
  readonly mistral: FakeUpstream
  /** Sets the answer of the fake OpenAI from now on. */
  readonly answer: (script: Script) => void
  readonly ask: (
    body: object,
    init?: RequestInit
  ) => Promise<{ status: number, route: string | null, body: Record<string, unknown> }>
}

async function start (t: Test, parts: Partial<Settings> = {}): Promise<Routed> {
  let script: Script = { pieces: [chatAnswer('one')] }
  const openai = await fakeUpstream(() => script)
  const mistral = await fakeUpstream({ pieces: [chatAnswer('two')] })
  t.teardown(openai.close)
  t.teardown(mistral.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${openai.url}/v1`), upstreamAt(`${mistral.url}/v1`, 'mistral', 'mistral')],
    ...parts
  })
  return {
    api,
    openai,
    mistral,
    answer: next => { script = next },
    ask: async (body, init) => {
      const response = await api.post(path, { messages: 'hi', ...body }, init)
      return {
        status: response.status,
        route: response.headers.get('x-headgate-route'),
        body: (await response.json()) as Record<string, unknown>
      }
    }
  }
}

const both = { model: ['openai/gpt-5', 'mistral/mistral-large-latest'] }

t.test(
  'a failing model is skipped, called if there is no other, and restored by a success',
  async t => {
    const { api, openai, mistral, answer, ask } = await start(t)
    t.match(await ask(both), { status: 200, route: 'openai/gpt-5: first_choice' })
    answer(busy)
    const failed = 'openai/gpt-5: upstream_error; mistral/mistral-large-latest: next_choice'
    for (let count = 0; count < 5; count++) t.match(await ask(both), { status: 200, route: failed })
    t.match(await ask(both), {
      status: 200,
      route: 'openai/gpt-5: circuit_open; mistral/mistral-large-latest: next_choice'
    })
    t.equal(openai.requests.length, 6)
    await until(() => api.lines.length === 7, 'seven lines in the log')
    t.match(api.lines[6], {
      attempts: 1,
      failed_attempts: ['openai/gpt-5: circuit_open'],
      candidates: ['openai/gpt-5: first_choice', 'mistral/mistral-large-latest: next_choice']
    })

    t.match(
      await ask({ model: 'openai/gpt-5' }),
      { status: 502, route: 'openai/gpt-5: upstream_error' },
      'called anyway'
    )
    t.equal(openai.requests.length, 7)
    t.match(
      await ask({ model: ['openai/gpt-5-mini', 'mistral/mistral-large-latest'] }),
      { route: /^openai\/gpt-5-mini: upstream_error;/ },
      'another model of the same provider'
    )
    answer({ pieces: [chatAnswer('one')] })
    t.match(
      await ask(both, {
        headers: { 'x-provider-key': 'mine', 'x-provider': 'openai', 'x-provider-model': 'gpt-5' }
      }),
      { status: 200 }
    )
    t.match(
      await ask(both),
      { route: /circuit_open/ },
      'what callers learn with their own key affects only them'
    )
    t.match(await ask({ model: 'openai/gpt-5' }), { status: 200, route: null })
    t.match(await ask(both), { route: 'openai/gpt-5: first_choice' })
    t.equal(mistral.requests.length, 8)
  }
)

t.test('errors of callers and of their own keys open no circuit', async t => {
  const { api, openai, answer, ask } = await start(t)
  answer({ status: 400, pieces: ['{"error":{"message":"no"}}'] })
  for (let count = 0; count < 5; count++) t.equal((await ask(both)).status, 400)
  answer(busy)
  const own = { headers: { 'x-provider-key': 'mine' } }
  for (let count = 0; count < 5; count++) t.match(await ask({ model: 'openai/gpt-5' }, own), { status: 502 })
  answer({ silent: true })
  for (let count = 0; count < 5; count++) {
    const leaving = new AbortController()
    const sent = api.post(path, { ...both, messages: 'hi' }, { signal: leaving.signal })
    sent.catch(() => undefined)
    const seen = await openai.request(10 + count)
    leaving.abort()
    await seen.aborted
  }
  answer({ pieces: [chatAnswer('one')] })
  t.match(await ask(both), { status: 200, route: 'openai/gpt-5: first_choice' })
})

t.test('interrupted streams count against their model', async t => {
  const { answer, ask, api } = await start(t)
  answer({ headers: eventStream, pieces: chatFrames(['a', 'b']).slice(0, 3), then: 'fin' })
  const streamed = { ...both, messages: 'hi', stream: true }
  for (let count = 0; count < 5; count++) {
    t.match(await (await api.post(path, streamed)).text(), /upstream_stream_interrupted/)
  }
  t.match(await ask(both), { route: /^openai\/gpt-5: circuit_open/ })
})

t.test('a provider that limits requests is skipped on all endpoints, with every retry setting', async t => {
  const { openai, answer, ask, api } = await start(t)
  answer({ status: 429, headers: { 'retry-after': '30' }, pieces: ['{}'] })
  t.equal(
    (await api.post('/v1/embeddings', { model: 'openai/text-embedding-3-small', input: 'x' })).status,
    429
  )
  t.match(await ask(both), {
    status: 200,
    route: 'openai/gpt-5: rate_limited; mistral/mistral-large-latest: next_choice'
  })
  const { body } = await ask(both, dry)
  t.match(body, {
    candidates: [
      { model: 'mistral/mistral-large-latest' },
      { model: 'openai/gpt-5', state: 'rate_limited', until: String }
    ]
  })
  t.equal(openai.requests.length, 1)
})

t.test('a model that does not serve the endpoint is not an alternative', async t => {
  let sent = 0
  const upstream = await fakeUpstream(() =>
    sent++ === 0
      ? { status: 429, pieces: ['{}'] }
      : {
          pieces: [
            '{"data":[{"index":0,"embedding":[1]}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}'
          ]
        }
  )
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { retries: 1 }),
      upstreamAt(upstream.url, 'anthropic', 'anthropic')
    ],
    routes: [{ name: 'any', models: ['openai/text-embedding-3-small', 'anthropic/claude-sonnet-4-5'] }]
  })
  const response = await api.post('/v1/embeddings', { model: 'any', input: 'x' })
  t.match(
    [response.status, response.headers.get('x-headgate-attempts')],
    [200, '2'],
    'it is retried, as the last one is'
  )
})

t.test('a second entry with another key is used as the next credential', async t => {
  const upstream = await fakeUpstream(({ headers }) =>
    headers.authorization === undefined && headers['x-team'] === 'b'
      ? { pieces: [chatAnswer('paid')] }
      : { status: 429, pieces: ['{"error":{"code":"insufficient_quota","message":"no more"}}'] }
  )
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`),
      upstreamAt(`${upstream.url}/v1`, 'second', 'openai', { headers: { 'x-team': new Secret('b') } })
    ],
    routes: [{ name: 'gpt', models: ['openai/gpt-5', 'second/gpt-5'] }]
  })
  const routes: Array<string | null> = []
  for (let count = 0; count < 2; count++) {
    const response = await api.post(path, { model: 'gpt', messages: 'hi' })
    t.equal(response.status, 200)
    routes.push(response.headers.get('x-headgate-route'))
  }
  t.same(routes, [
    'openai/gpt-5: upstream_quota_exhausted; second/gpt-5: next_choice',
    'openai/gpt-5: rate_limited; second/gpt-5: next_choice'
  ])
})

t.test('attributes choose the model, and are not sent to providers', async t => {
  const { openai, mistral, ask } = await start(t, {
    models: [
      modelSettings('openai/gpt-5', { attributes: { intelligence: 0.9, speed: 0.4, cost: 0.8 } }),
      modelSettings('mistral/mistral-large-latest', {
        attributes: { intelligence: 0.5, speed: 0.9, cost: 0.1 }
      })
    ],
    routes: [{ name: 'smart', models: ['mistral/mistral-large-latest', 'openai/gpt-5'] }]
  })
  const model = [
    'mistral/mistral-large-latest',
    { model: 'openai/gpt-5', settings: { attributes: { speed: 0.4 } } }
  ]
  const hard = { complexity: 0.8, efficiency: 0.4 }
  t.match(await ask({ model, agent_attributes: hard }), {
    route: 'openai/gpt-5: score=0.92',
    body: { model: 'openai/gpt-5' }
  })
  t.match(
    await ask({ model: 'smart', agent_attributes: hard }),
    { route: 'openai/gpt-5: score=0.92' },
    'also for a route'
  )
  t.match(await ask({ model, agent_attributes: { ...hard, complexity: 0.3 } }), {
    route: 'mistral/mistral-large-latest: score=1.00'
  })
  t.match(
    await ask({ model }),
    { route: 'mistral/mistral-large-latest: score=0.90' },
    'settings alone may set attributes too'
  )
  for (const [name, model_attributes] of Object.entries<object>({
    'by id': { 'openai/gpt-5': { intelligence: 0.1 } },
    'by the name without prefix': { 'gpt-5': { intelligence: 0.1 } },
    'by the id rather than the name': { 'gpt-5': { intelligence: 1 }, 'openai/gpt-5': { intelligence: 0.1 } }
  })) {
    t.match(
      await ask({ model, agent_attributes: { complexity: 0.8 }, model_attributes }),
      { route: 'mistral/mistral-large-latest: score=0.63' },
      name
    )
  }
  const ofRoute = { model: 'smart', agent_attributes: { complexity: 0.8 } }
  t.match(
    await ask({ ...ofRoute, model_attributes: { 'openai/gpt-5': { intelligence: 0.1 } } }),
    { route: 'mistral/mistral-large-latest: score=0.63' },
    'also through a route'
  )
  t.match(
    await ask({ model: ['smart'], model_attributes: { smart: { accuracy: 0.7 } } }),
    { route: 'mistral/mistral-large-latest: score=0.70' },
    'as the caller wrote it'
  )
  t.match(
    await ask({
      model: [
        'mistral/mistral-large-latest',
        { model: 'openai/gpt-5', settings: { attributes: { x: 0.9 } } }
      ]
    }),
    { route: 'openai/gpt-5: score=0.90' }
  )
  t.match(
    await ask({ model: 'openai/gpt-5', agent_attributes: hard }),
    { route: null },
    'with one model there is nothing to choose'
  )
  t.notMatch(
    [...openai.requests, ...mistral.requests].map(({ text }) => text).join(),
    /attributes|complexity|intelligence/
  )
  for (const wrong of [
    { agent_attributes: { complexity: 2 } },
    { model_attributes: { a: { b: 'x' } } },
    { model: { model: 'openai/gpt-5', settings: { attributes: { x: -1 } } } }
  ]) {
    t.equal((await ask({ model, ...wrong })).status, 422)
  }
})

t.test('a dry run explains the choice after the same checks, without calling a provider', async t => {
  const { api, openai, mistral, ask } = await start(t, {
    routes: [
      {
        name: 'shared',
        models: ['openai/gpt-5', 'mistral/mistral-large-latest'],
        strategy: 'weighted',
        weights: { 'openai/gpt-5': 0 }
      }
    ]
  })
  const { status, route, body } = await ask({ ...both, stream: true, deferred: true }, dry)
  t.match([status, route], [200, null])
  t.same(body, {
    object: 'route.decision',
    requested: 'openai/gpt-5, mistral/mistral-large-latest',
    candidates: [
      {
        rank: 1,
        model: 'openai/gpt-5',
        provider: 'openai',
        expected_cost_usd: 0.0100025,
        state: 'ready',
        reason: 'first_choice'
      },
      {
        rank: 2,
        model: 'mistral/mistral-large-latest',
        provider: 'mistral',
        expected_cost_usd: 0.001501,
        state: 'ready',
        reason: 'next_choice'
      }
    ]
  })
  t.match((await ask({ model: 'shared' }, dry)).body, {
    requested: 'shared',
    candidates: [{ reason: 'session' }, { reason: 'weight=0' }]
  })
  t.match((await ask({ ...both, agent_attributes: { complexity: 0.5 } }, dry)).body, {
    candidates: [{ score: 0.5, reason: 'score=0.50' }, {}]
  })
  t.match(await ask({ model: 'missing/gpt-5' }, dry), {
    status: 404,
    body: { error: { code: 'model_not_found' } }
  })
  t.equal((await ask({ ...both, messages: 5 }, dry)).status, 422)
  t.equal((await ask(both, { headers: { ...dry.headers, authorization: 'Bearer wrong' } })).status, 401)
  for (const value of ['1', 'yes', 'on', 'TRUE']) {
    t.equal(
      (await ask(both, { headers: { 'x-headgate-dry-run': value } })).body['object'],
      'route.decision',
      value
    )
  }

  const json: Array<[string, object, string]> = [
    [
      '/v1/embeddings',
      { input: 'x', model: 'openai/text-embedding-3-small' },
      'openai/text-embedding-3-small'
    ],
    ['/v1/audio/speech', { input: 'x', voice: 'alloy', model: 'openai/tts-1' }, 'openai/tts-1'],
    ['/v1/images/generations', { prompt: 'x' }, 'openai/dall-e-2'],
    [
      '/v1/ocr',
      { document: { type: 'document_url', document_url: 'data:image/png;base64,iVBORw0KGgo=' } },
      'mistral/mistral-ocr-latest'
    ]
  ]
  for (const [path, body, model] of json) {
    t.match(
      await (await api.post(path, body, dry)).json(),
      { object: 'route.decision', candidates: [{ model, state: 'ready' }] },
      path
    )
  }
  for (const [path, model] of [
    ['/v1/audio/transcriptions', 'openai/whisper-1'],
    ['/v1/audio/translations', 'openai/whisper-1']
  ] as const) {
    const body = new FormData()
    body.set('model', model)
    body.set('file', new Blob([wavOf(0.1)], { type: 'audio/wav' }), 'a.wav')
    const response = await fetch(api.url + path, {
      method: 'POST',
      body,
      headers: { ...dry.headers, 'x-api-key': testKey }
    })
    t.match(
      await response.json(),
      { object: 'route.decision', candidates: [{ model, state: 'ready' }] },
      path
    )
  }
  const unsuitable = await api.post(
    '/v1/audio/speech',
    { input: 'x', voice: 'alloy', model: ['mistral/mistral-large-latest', 'openai/tts-1'] },
    dry
  )
  t.match(await unsuitable.json(), {
    candidates: [{ model: 'openai/tts-1' }, { model: 'mistral/mistral-large-latest', state: 'unsuitable' }]
  })
  t.equal(openai.requests.length + mistral.requests.length, 0)
  await until(() => api.lines.length >= 16, '16 lines in the log')
  t.match(api.lines[0], { endpoint: 'chat', dry_run: true, attempts: 0, status: 200, outcome: 'ok' })
  t.equal((await ask(both, { headers: { 'x-headgate-dry-run': 'false' } })).body['object'], 'chat.completion')
})

t.test('a configuration reload keeps the cooldowns', async t => {
  const { api, openai, answer, ask } = await start(t)
  answer({ status: 429, headers: { 'retry-after': '60' }, pieces: ['{}'] })
  t.match(await ask({ model: 'openai/gpt-5' }), { status: 429 })
  for (let keepDays = 1; keepDays < 4; keepDays++) {
    await api.gateway.reload({
      ...api.gateway.services.settings,
      usage: { ...api.gateway.services.settings.usage, keepDays }
    })
    t.match(await ask(both), { status: 200, route: /^openai\/gpt-5: rate_limited;/ })
  }
  t.equal(openai.requests.length, 1)
})

t.test('every x-headgate-route header follows the documented grammar', async t => {
  const [, grammar = ''] =
    /```abnf\n([^]*?)```/.exec(
      readFileSync(join(import.meta.dirname, '../../../docs/routing.md'), 'utf8')
    ) ?? []
  const terminals = {
    'model-id': '[\\w-]+/[\\w.-]+',
    'capability': 'vision|audio|tools|structured_output',
    'error-code': Object.keys(codes).join('|'),
    'number': '\\d+(?:\\.\\d+)?'
  }
  const route = grammarOf(grammar, 'route', terminals)
  for (const wrong of [
    'openai/gpt-5',
    'openai/gpt-5: ',
    'openai/gpt-5: best',
    'openai/gpt-5: score=high',
    'openai/gpt-5: next_choice;'
  ]) {
    t.notMatch(wrong, route)
  }
  const models = ['openai/gpt-5', 'mistral/mistral-large-latest']
  const strategies = ['weighted', 'cheapest', 'fastest', 'balanced'] as const
  const { answer, ask } = await start(t, {
    models: [
      modelSettings('openai/gpt-5', {
        attributes: { intelligence: 0.9 },
        price: { input: 1.25, output: 10 },
        capabilities: { tools: false, input_token_limit: 1000 }
      })
    ],
    routes: [
      ...strategies.map(strategy => ({ name: strategy, strategy, models })),
      { name: 'hedged', models, hedgeAfterMs: 10 }
    ]
  })
  const header = (name: string, value: string): RequestInit => ({ headers: { [name]: value } })
  const calls: ReadonlyArray<readonly [expected: RegExp, body: object, init?: RequestInit]> = [
    [/: first_choice$/, both],
    [/: weight=1$/, { model: 'weighted' }],
    [/: price=\d/, { model: 'cheapest' }],
    [/: first_byte_ms=/, { model: 'fastest' }],
    [/: load_ms=/, { model: 'balanced' }],
    [/: score=1\.00$/, { ...both, agent_attributes: { complexity: 0.9 } }],
    [
      /: lacks_tools; .*: first_choice$/,
      { ...both, tools: [{ type: 'function', function: { name: 'look' } }] }
    ],
    [/: prompt_too_long; /, { ...both, messages: 'word '.repeat(2000) }],
    [/: not_in_only; /, both, header('x-headgate-only', 'mistral')],
    [/: over_max_price; /, both, header('x-headgate-max-price', '2.5')],
    [/^mistral\/mistral-large-latest: caller_order$/, both, header('x-headgate-order', 'mistral')]
  ]
  for (const [expected, body, init] of calls) {
    const { route: text } = await ask(body, init)
    t.match(text, expected)
    t.match(text, route)
  }
  for (const [expected, script, body] of [
    [/: slower; /, { silent: true }, { model: 'hedged' }],
    [/: upstream_error; /, busy, both],
    [/: rate_limit_exceeded; /, { status: 429, headers: { 'retry-after': '30' }, pieces: ['{}'] }, both],
    [/: rate_limited; /, busy, both]
  ] as ReadonlyArray<readonly [RegExp, Script, object]>) {
    answer(script)
    const { route: text } = await ask(body)
    t.match(text, expected)
    t.match(text, route)
  }
})

t.test(
  'at start, calls are accepted once all providers have listed their models',
  async t => {
    const list = JSON.stringify({ data: [{ id: 'm1' }] })
    const { promise: betaListed, resolve } = withResolvers<void>()
    const [alpha, beta] = await Promise.all([
      fakeUpstream(async () => {
        await betaListed
        return { pieces: [list] }
      }),
      fakeUpstream(() => {
        resolve()
        return { pieces: [list] }
      })
    ])
    t.teardown(async () => await Promise.all([alpha.close(), beta.close()]))
    const providers = [
      upstreamAt(`${alpha.url}/v1`, 'alpha', 'openai-compatible'),
      upstreamAt(`${beta.url}/v1`, 'beta', 'openai-compatible')
    ]
    const api = await testGateway(t, {
      providers: providers.map(provider => ({ ...provider, listModels: true }))
    })
    const decision = await (await api.post(path, { model: 'm1', messages: 'hi' }, dry)).json()
    t.match(decision, { candidates: [{ model: 'alpha/m1' }] })
  }
)
