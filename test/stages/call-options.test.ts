import t from 'tap'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import type { Test } from 'tap'

const chat = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'hi' }] }

interface Opened {
  readonly api: TestGateway
  readonly seen: readonly SeenRequest[]
}

/** A gateway in front of a provider that fails requests for `gpt-5` and answers those for any other model. */
async function opened (
  t: Test,
  quirks: object = {},
  failure: Script = { status: 503, pieces: ['{}'] }
): Promise<Opened> {
  const upstream = await fakeUpstream(({ json }) =>
    (json as { model: string }).model === 'gpt-5' ? failure : { pieces: [chatAnswer('there')] }
  )
  t.teardown(upstream.close)
  const provider = upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', {
    quirks: { responsesApi: false, ...quirks }
  })
  return { api: await testGateway(t, { providers: [{ ...provider, retries: 3 }] }), seen: upstream.requests }
}

function modelsOf (seen: readonly SeenRequest[]): string[] {
  return seen.map(({ json }) => (json as { model: string }).model)
}

t.test('fallbacks are tried after the models of the request, in every form that LiteLLM has', async t => {
  const forms = [
    ['openai/gpt-4o'],
    [{ model: 'openai/gpt-4o' }],
    [{ 'openai/gpt-5': ['openai/gpt-4o'], 'openai/o3': ['openai/gpt-4o-mini'] }],
    [{ '*': 'openai/gpt-4o' }]
  ]
  for (const fallbacks of forms) {
    const { api, seen } = await opened(t)
    const answer = await api.post(chat, { ...question, fallbacks, num_retries: 0 })
    t.match(await answer.json(), { choices: [{ message: { content: 'there' } }] }, JSON.stringify(fallbacks))
    t.same(modelsOf(seen), ['gpt-5', 'gpt-4o'])
    t.notOk(seen.some(({ json }) => 'fallbacks' in (json as object) || 'num_retries' in (json as object)))
  }
})

t.test('an option that an endpoint lacks has no effect, whatever it is', async t => {
  const { api, seen } = await opened(t)
  const forms = ['openai/gpt-4o', 5, {}, [null], [{ '*': 5 }], ['openai/gpt-4o']]
  for (const fallbacks of forms) {
    const answer = await api.post('/v1/embeddings', {
      model: 'openai/gpt-5', input: 'hi', fallbacks, usage: { include: true }, num_retries: 0
    })
    t.equal(answer.status, 503, JSON.stringify(fallbacks))
    t.equal(answer.headers.get('x-headgate-ignored'), 'fallbacks, usage')
  }
  t.same(new Set(modelsOf(seen)), new Set(['gpt-5']), 'vectors of another model cannot be compared')
})

t.test('fallbacks are checked for the same rights, and count as models of the call', async t => {
  const { api } = await opened(t)
  t.equal(
    (await api.post(chat, { ...question, fallbacks: ['openai/unknown-model-of-none', 'nowhere/x'] })).status,
    404
  )
  const many = await api.post(chat, {
    ...question,
    fallbacks: Array.from({ length: 11 }, () => 'openai/gpt-4o')
  })
  t.equal(many.status, 422)
  t.match(await many.json(), { detail: [{ loc: ['body', 'fallbacks'] }] })
})

t.test('num_retries lowers the attempts at a model, and raises none', async t => {
  for (const [wanted, requests] of [
    [0, 1],
    [1, 2],
    [100, 4]
  ] as const) {
    const { api, seen } = await opened(t)
    t.equal((await api.post(chat, { ...question, num_retries: wanted })).status, 503)
    t.equal(seen.length, requests, `num_retries: ${wanted}`)
  }
})

t.test('timeout ends a call that takes longer, and extends none', async t => {
  const { api, seen } = await opened(t, {}, { silent: true })
  const late = await api.post(chat, { ...question, timeout: 0.05 })
  t.equal(late.status, 504)
  t.match(await late.json(), { error: { code: 'timeout' } })
  await seen[0]?.aborted
  t.equal((await api.post(chat, { ...question, model: 'openai/gpt-4o', timeout: 1e9 })).status, 200)
  t.equal((await api.post(chat, { ...question, timeout: 0 })).status, 422)
})

t.test('fields without effect are named in a header and the log', async t => {
  const { api } = await opened(t, { extraFields: ['min_p'] })
  const answer = await api.post(chat, {
    ...question,
    model: 'openai/gpt-4o',
    caching: true,
    min_p: 0.1,
    num_retries: 1
  })
  t.equal(answer.headers.get('x-headgate-ignored'), 'caching')
  await until(() => api.lines.some(({ endpoint }) => endpoint === 'chat'), 'the line')
  t.match(
    api.lines.find(({ endpoint }) => endpoint === 'chat'),
    { ignored: ['caching'] }
  )
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`${'x'.repeat(100)}${index}`, 1])
  )
  const cut = await api.post(chat, { ...question, model: 'openai/gpt-4o', ...many })
  t.ok((cut.headers.get('x-headgate-ignored') ?? '').length <= 256)
  t.equal(
    (await api.post(chat, { ...question, model: 'openai/gpt-4o' })).headers.get('x-headgate-ignored'),
    null
  )
})

t.test(
  'cache without a cache, and drop_params that asks for more than exists, are named as ignored',
  async t => {
    const { api } = await opened(t)
    const ignored = async (fields: object): Promise<string | null> =>
      (await api.post(chat, { ...question, model: 'openai/gpt-4o', ...fields })).headers.get(
        'x-headgate-ignored'
      )
    t.equal(await ignored({ cache: { 'no-cache': true } }), 'cache')
    t.equal(await ignored({ drop_params: false, cache: true }), 'drop_params, cache')
    t.equal(await ignored({ drop_params: true, tags: ['a'] }), null)
    t.equal((await api.post(chat, { ...question, drop_params: 'yes' })).status, 422)
    const upstream = await fakeUpstream({ pieces: [chatAnswer('there')] })
    t.teardown(upstream.close)
    const provider = upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', {
      quirks: { responsesApi: false }
    })
    const caching = await testGateway(t, {
      providers: [provider],
      cache: { answers: { ttlMs: 1000, maxBytes: 65_536, scope: 'key', when: 'always' } }
    })
    const kept = await caching.post(chat, { ...question, cache: { ttl: 5 } })
    t.same(
      [kept.status, kept.headers.get('x-headgate-ignored'), kept.headers.get('x-headgate-cache')],
      [200, null, 'miss']
    )
  }
)

t.test('tags beside the metadata are tags too, as a list or a text', async t => {
  const { api } = await opened(t)
  const body = { ...question, model: 'openai/gpt-4o' }
  t.equal(
    (await api.post(chat, { ...body, tags: ['batch', 'night'] }, { headers: { 'x-litellm-tags': 'first' } }))
      .status,
    200
  )
  t.equal((await api.post(chat, { ...body, tags: 'batch, day' })).status, 200)
  await until(() => api.lines.filter(({ tags }) => tags !== undefined).length === 2, 'their lines')
  t.same(
    api.lines.flatMap(({ tags }) => (tags === undefined ? [] : [tags])),
    [
      ['first', 'batch', 'night'],
      ['batch', 'day']
    ]
  )
})

t.test("a provider of the caller's dialect gets none of these fields", async t => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'there' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 }
  }
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  }
  const upstream = await fakeUpstream(({ path }) => ({
    pieces: [JSON.stringify(path.endsWith('messages') ? message : response)]
  }))
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'anthropic', 'anthropic'),
      upstreamAt(`${upstream.url}/v1`, 'openai')
    ]
  })
  const own = {
    fallbacks: ['openai/gpt-4o'],
    num_retries: 1,
    timeout: 60,
    tags: ['night'],
    drop_params: true,
    cache: { ttl: 60 }
  }
  const asked = {
    model: 'anthropic/claude-sonnet-5-5',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    unknown_to_us: 1
  }
  t.equal((await api.post('/v1/messages', { ...asked, ...own })).status, 200)
  t.equal(
    (await api.post('/v1/responses', { model: 'openai/gpt-5', input: 'hi', unknown_to_us: 1, ...own }))
      .status,
    200
  )
  t.equal(upstream.requests.length, 2)
  for (const { json, path } of upstream.requests) {
    t.match(json, { unknown_to_us: 1 }, path)
    t.same(
      Object.keys(own).filter(name => name in (json as object)),
      [],
      path
    )
  }
})

t.test('a list of tags reaches the log and no provider, in every dialect', async t => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 }
  }
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  }
  const upstream = await fakeUpstream(({ path }) => ({
    pieces: [
      path.endsWith('completions')
        ? chatAnswer('x')
        : JSON.stringify(path.endsWith('messages') ? message : response)
    ]
  }))
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'anthropic', 'anthropic'),
      upstreamAt(`${upstream.url}/v1`, 'openai'),
      upstreamAt(`${upstream.url}/v1`, 'groq', 'groq')
    ]
  })
  const metadata = { tags: ['batch', 'night'], user_id: 'u' }
  const bodies = {
    '/v1/messages': {
      model: 'anthropic/claude-sonnet-5-5',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
      metadata
    },
    '/v1/responses': { model: 'openai/gpt-5', input: 'hi', metadata },
    [chat]: { ...question, model: 'groq/llama', metadata }
  }
  for (const [path, body] of Object.entries(bodies)) t.equal((await api.post(path, body)).status, 200, path)
  t.notMatch(upstream.requests.map(({ text }) => text).join(), /night/)
  await until(() => api.lines.filter(({ tags }) => tags !== undefined).length === 3, 'their lines')
  t.equal(
    (await api.post(chat, { ...question, metadata: { tags: 'batch', other: 1 } })).status,
    422,
    'what remains obeys the schema'
  )
})
