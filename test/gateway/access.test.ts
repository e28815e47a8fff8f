import t from 'tap'
import { endpointNames } from '../../schemas/endpoints.ts'
import { createEndpoints } from '../../pipelines/index.ts'
import { isOfAdmin } from '../support/endpoints.ts'
import { testGateway, testKey } from '../support/gateway.ts'
import { providerSettings } from '../support/settings.ts'

const sandbox = {
  ...providerSettings('sandbox', 'sandbox'),
  baseUrl: 'sandbox:',
  options: { words_per_second: 0 }
}

/** The only endpoints without authentication: they reveal only that the gateway is there. */
const open = new Set(['livez', 'readyz', 'openapi'])
/** The endpoint open to every key: it describes the key itself. */
const forEveryKey = 'key'

// `pipelines/admin.test.ts` tests access to the admin API.
t.test('every endpoint of the API with every kind of caller', async t => {
  const api = await testGateway(t, { providers: [sandbox] }, {
    'elsewhere only': { id: 'key-2', name: 'scoped', endpoints: ['nothing'] },
    'one model only': { id: 'key-3', name: 'scoped', models: ['sandbox/story'] }
  })
  const endpoints = createEndpoints(api.gateway.services).filter(endpoint => !isOfAdmin(endpoint))
  t.same(
    [...new Set(endpoints.map(({ name }) => name))].toSorted(),
    endpointNames.toSorted(),
    'a key may be limited to each of them'
  )
  for (const { name, method, path } of endpoints) {
    const url = api.url + path.replace(/[:*]\w+/g, 'x')
    const status = async (key?: string, second?: string): Promise<number> =>
      (
        await fetch(url, {
          method,
          headers: {
            ...key !== undefined && { authorization: `Bearer ${key}` },
            ...second !== undefined && { 'x-api-key': second }
          },
          ...method === 'POST' && { body: '{' }
        })
      ).status
    if (open.has(name)) {
      t.equal(await status(), 200, `${name} is open`)
      continue
    }
    t.equal(await status(), 401, `${method} ${path} without a key`)
    t.equal(await status('wrong'), 401, `${method} ${path} with a wrong key`)
    t.equal(
      await status('elsewhere only'),
      name === forEveryKey ? 200 : 403,
      `${method} ${path} with a key for another endpoint`
    )
    for (const both of [[testKey], [testKey, 'wrong'], ['wrong', testKey]] as const) {
      t.notOk(
        [401, 403].includes(await status(...both)),
        `${method} ${path} with a key: ${both.join(' and ')}`
      )
    }
  }
  const ask = async (model: string): Promise<number> =>
    (
      await api.post(
        '/v1/chat/completions',
        { model, messages: 'hi' },
        {
          headers: { authorization: 'Bearer one model only' }
        }
      )
    ).status
  t.equal(await ask('sandbox/story'), 200)
  t.equal(await ask('sandbox/echo'), 403, 'a model outside the scope')
})

t.test('/health reports degraded parts while calls continue', async t => {
  let degraded: string[] = []
  const api = await testGateway(t, { providers: [sandbox] }, {}, { degraded: () => degraded })
  t.same(await (await api.get('/health')).json(), { status: 'ok' })
  degraded = ['keys']
  await api.gateway.reload(api.gateway.services.settings)
  t.same(await (await api.get('/health')).json(), { status: 'ok', degraded: ['keys'] })
})

t.test(
  'if the default model of an endpoint is disabled, a call without a model is refused with advice',
  async t => {
    const api = await testGateway(t, { providers: [sandbox] })
    const document = { type: 'document_url', document_url: 'https://example.com/a.pdf' }
    for (const [path, body] of [
      ['/v1/images/generations', { prompt: 'a cat' }],
      ['/v1/ocr', { document }]
    ] as const) {
      const answer = await api.post(path, body)
      t.equal(answer.status, 404, path)
      t.match(await answer.json(), {
        error: {
          code: 'model_not_found',
          param: 'model',
          message: /^`model` is required: the default of this endpoint, `[^`]+`, is not enabled here\.$/
        }
      })
    }
  }
)
