import OpenAI, { AzureOpenAI } from 'openai'
import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { aliasDocs } from '../../pipelines/aliases.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { startLitellm } from '../support/litellm-proxy.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream, type SeenRequest } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }

interface Opened { readonly api: TestGateway, readonly seen: readonly SeenRequest[] }

async function opened (t: Test, parts: Partial<Settings> = {}): Promise<Opened> {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('there')] })
  t.teardown(upstream.close)
  const provider = upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { quirks: { responsesApi: false } })
  return { api: await testGateway(t, { providers: [provider], ...parts }), seen: upstream.requests }
}

function chat (model?: string): RequestInit {
  return { method: 'POST', headers, body: JSON.stringify({ model, messages: 'hi' }) }
}

t.test('a program needs no other base address than that of the gateway it was written for', async t => {
  const { api } = await opened(t)
  const paths = [
    '/chat/completions',
    '/openai/chat/completions',
    '/openai/v1/chat/completions',
    '/CHAT/completions/'
  ]
  for (const path of paths) {
    const response = await fetch(api.url + path, chat('openai/gpt-5'))
    t.match(await response.json(), { choices: [{ message: { content: 'there' } }] }, path)
  }
  t.match(await (await fetch(`${api.url}/models`, { headers })).json(), { object: 'list' })
  t.match(await (await fetch(`${api.url}/models/openai/gpt-5`, { headers })).json(), { id: 'openai/gpt-5' })
  await until(
    () => api.lines.filter(({ endpoint }) => endpoint === 'chat').length === paths.length,
    'their lines'
  )
  t.same(
    api.lines.filter(({ endpoint }) => endpoint === 'chat').map(({ request }) => request),
    paths.map(path => `POST ${path}`),
    'the log has the endpoint, and the path that was called'
  )
})

t.test('published clients work with only the host replaced', async t => {
  const { api } = await opened(t)
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const openai = new OpenAI({ baseURL: api.url, apiKey: testKey })
  t.equal(
    (await openai.chat.completions.create({ model: 'openai/gpt-5', messages })).choices[0]?.message.content,
    'there'
  )
  const azure = new AzureOpenAI({
    endpoint: api.url,
    apiKey: testKey,
    apiVersion: '2024-10-21',
    deployment: 'openai/gpt-5'
  })
  t.equal(
    (await azure.chat.completions.create({ model: 'another', messages })).choices[0]?.message.content,
    'there'
  )
  const anthropic = new Anthropic({ baseURL: `${api.url}/anthropic`, apiKey: testKey })
  t.match((await anthropic.messages.create({ model: 'openai/gpt-5', max_tokens: 9, messages })).content, [
    { text: 'there' }
  ])
})

t.test('the model of the path wins over that of the body, which is named in a header', async t => {
  const { api, seen } = await opened(t)
  for (const path of [
    '/openai/deployments/openai/gpt-5/chat/completions?api-version=1',
    '/engines/openai/gpt-5/chat/completions'
  ]) {
    const other = await fetch(api.url + path, chat('openai/gpt-4o'))
    t.equal(other.status, 200)
    t.equal(other.headers.get('x-headgate-ignored'), 'model')
    for (const model of [undefined, 'openai/gpt-5']) {
      const same = await fetch(api.url + path, chat(model))
      t.equal(same.status, 200)
      t.equal(same.headers.get('x-headgate-ignored'), null)
    }
  }
  t.same([...new Set(seen.map(({ json }) => (json as { model: string }).model))], ['gpt-5'])
})

t.test('rights see the model of the path', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('there')] })
  t.teardown(upstream.close)
  const provider = upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { quirks: { responsesApi: false } })
  const api = await testGateway(t, { providers: [provider] }, {
    narrow: { id: 'key-2', name: 'narrow', models: ['openai/gpt-4o'] }
  })
  const send = async (model: string, inBody: string): Promise<number> =>
    (await fetch(`${api.url}/openai/deployments/${model}/chat/completions`, {
      ...chat(inBody), headers: { 'api-key': 'narrow', 'content-type': 'application/json' }
    })).status
  t.equal(await send('openai/gpt-5', 'openai/gpt-4o'), 403)
  t.equal(await send('openai/gpt-4o', 'openai/gpt-5'), 200)
})

t.test('a form gets the model of the path', async t => {
  const upstream = await fakeUpstream({ pieces: ['{"text":"heard"}'] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai')] })
  for (const [model, ignored] of [
    [undefined, null],
    ['openai/whisper-1', null],
    ['another', 'model']
  ] as const) {
    const body = new FormData()
    body.set('file', new Blob(['RIFF']), 'a.wav')
    if (model !== undefined) body.set('model', model)
    const response = await fetch(`${api.url}/openai/deployments/openai/whisper-1/audio/transcriptions`, {
      method: 'POST', headers: { 'api-key': testKey }, body
    })
    t.match(await response.json(), { text: 'heard' })
    t.equal(response.headers.get('x-headgate-ignored'), ignored)
    t.match(upstream.requests.at(-1)?.text, /name="model"\r\n\r\nwhisper-1/)
  }
})

t.test('errors of an alias are in the words of its dialect', async t => {
  const { api } = await opened(t)
  for (const path of ['/messages', '/anthropic/v1/messages', '/openai/v1/messages']) {
    const response = await fetch(api.url + path, { method: 'POST', headers, body: '{' })
    t.match(await response.json(), { type: 'error', error: { type: 'invalid_request_error' } }, path)
  }
})

t.test('probes have the names of other gateways as well, and need no key', async t => {
  const { api } = await opened(t)
  for (const path of ['/health/liveliness', '/health/liveness', '/health/readiness']) {
    const response = await fetch(api.url + path)
    t.match(await response.json(), { status: 'ok' }, path)
  }
})

t.test('aliases are off where the operator says so', async t => {
  const { server } = settings({})
  const { api } = await opened(t, { server: { ...server, aliases: false } })
  for (const path of [
    '/chat/completions',
    '/openai/deployments/openai/gpt-5/chat/completions',
    '/anthropic/v1/messages'
  ]) {
    t.equal((await fetch(api.url + path, chat('openai/gpt-5'))).status, 404, path)
  }
  const { paths } = await (await fetch(`${api.url}/openapi.json`)).json() as { paths: object }
  t.notOk('/chat/completions' in paths)
})

t.test('the document has every alias once, under a tag of its own', async t => {
  const { api } = await opened(t)
  const { paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { tags: string[], operationId: string }>>
  }
  t.same(paths['/anthropic/v1/messages']?.['post']?.tags, ['Aliases'])
  const all = [...endpointDocs, ...aliasDocs(endpointDocs)]
  t.equal(
    new Set(all.map(({ method, path }) => `${method} ${path}`)).size,
    all.length,
    'no alias is the path of another endpoint'
  )
  t.equal(new Set(all.map(({ operationId }) => operationId)).size, all.length)
})

t.test('a body that looks like a form is none, and a deployment has a name', async t => {
  const { api, seen } = await opened(t)
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: 'hi', fields: {}, files: {} })
  t.equal(
    (await fetch(`${api.url}/engines/openai/gpt-5/chat/completions`, { method: 'POST', headers, body }))
      .status,
    200
  )
  t.match(seen[0]?.json, { model: 'gpt-5' })
  const nameless = await fetch(`${api.url}/openai/deployments//chat/completions`, chat('openai/gpt-5'))
  t.equal(nameless.status, 404)
  t.equal(seen.length, 1)
})

t.test('errors are in the words of their dialect however the path is written', async t => {
  const { api } = await opened(t)
  for (const path of ['/V1/Messages', '/Messages/', '/ANTHROPIC/v1/messages']) {
    t.match(
      await (await fetch(api.url + path, { method: 'POST', headers, body: '{' })).json(),
      { type: 'error' },
      path
    )
  }
})

t.test('every endpoint under /v1 is served without it, and below /openai', async t => {
  const { api } = await opened(t)
  const endpoints = endpointDocs.filter(({ path }) => path.startsWith('/v1/'))
  t.ok(endpoints.length > 20)
  for (const { method, path } of endpoints) {
    const named = path.slice('/v1'.length).replaceAll(/[:*]\w+/g, 'x')
    for (const prefix of ['', '/openai', '/openai/v1']) {
      const response = await fetch(api.url + prefix + named, { method })
      t.equal(response.status, 401, `${method} ${prefix}${named}`)
      await response.body?.cancel()
    }
  }
})

const { HEADGATE_TEST_LITELLM: python = '' } = process.env

interface ModelInfos { readonly data: ReadonlyArray<{ readonly model_info: Record<string, unknown> }> }

t.test(
  'the proxy of LiteLLM and the gateway answer the same requests alike',
  { skip: python === '' && 'HEADGATE_TEST_LITELLM is no Python with litellm[proxy]', timeout: 240_000 },
  async t => {
    const upstream = await fakeUpstream({
      headers: { 'content-type': 'application/json' },
      pieces: [chatAnswer('there', { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 })]
    })
    t.teardown(upstream.close)
    const { url, key } = await startLitellm(t, python, {
      model_list: [{
        model_name: 'gpt-4o',
        litellm_params: { model: 'openai/gpt-4o', api_key: 'key', api_base: `${upstream.url}/v1` }
      }]
    })
    const provider = upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { quirks: { responsesApi: false } })
    const { server } = settings({})
    const api = await testGateway(t, {
      providers: [provider], server: { ...server, litellmHeaders: true }
    }, { [key]: { id: 'key-2', name: 'moved' } })
    const both = async (path: string, init?: RequestInit): Promise<readonly [Response, Response]> =>
      [await fetch(url + path, init), await fetch(api.url + path, init)]
    const authorization = { authorization: `Bearer ${key}` }

    for (const path of [
      '/health/liveliness', '/health/liveness', '/health/readiness', '/models', '/v1/models', '/model/info',
      '/v1/model/info'
    ]) {
      const [theirs, ours] = await both(path, path.startsWith('/health') ? {} : { headers: authorization })
      t.same([theirs.status, ours.status], [200, 200], path)
      await Promise.all([theirs, ours].map(async ({ body }) => await body?.cancel()))
    }
    const json = { 'content-type': 'application/json' }
    const question = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }
    const fields = {
      metadata: { tags: ['a', 'b'] },
      tags: ['c'],
      fallbacks: ['gpt-4o'],
      num_retries: 1,
      timeout: 30,
      drop_params: true,
      cache: { 'no-cache': true },
      guardrails: []
    }
    for (const [path, headers, more] of [
      ['/chat/completions', authorization, {}],
      ['/v1/chat/completions', { 'x-litellm-api-key': key }, {}],
      ['/engines/gpt-4o/chat/completions', { 'x-litellm-api-key': `Bearer ${key}` }, {}],
      ['/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21', { 'api-key': key }, {}],
      ['/chat/completions', authorization, fields]
    ] as const) {
      const sent = upstream.requests.length
      const answers = await both(path, {
        method: 'POST',
        headers: { ...json, ...headers },
        body: JSON.stringify({ ...question, ...more })
      })
      for (const answer of answers) {
        t.match(await answer.json(), { choices: [{ message: { content: 'there' } }] }, path)
      }
      const bodies = upstream.requests
        .slice(sent)
        .filter(({ path }) => path.endsWith('/chat/completions'))
        .map(({ json }) => json as typeof question)
      t.match(bodies, [question, question])
      for (const body of bodies) t.same(Object.keys(fields).filter(name => name in body), [])
      const [theirs, ours] = answers.map(({ headers }) => headers)
      const names = [...(ours?.keys() ?? [])].filter(name => name.startsWith('x-litellm-'))
      t.ok(names.length > 4)
      t.same(names.filter(name => theirs?.has(name) !== true), [], 'the headers are headers of LiteLLM')
      t.equal(
        Number(ours?.get('x-litellm-response-cost')).toFixed(9),
        Number(theirs?.get('x-litellm-response-cost')).toFixed(9),
        'and the cost is the same'
      )
    }
    const [theirs, ours] = await Promise.all(
      (await both('/model/info', { headers: authorization })).map(
        async response => ((await response.json()) as ModelInfos).data[0]?.model_info ?? {}
      )
    )
    t.same(Object.keys(ours ?? {}).filter(name => !(name in (theirs ?? {}))), [])
  }
)
