import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import type { ApiKey } from '../../lib/core/key.ts'

const keys: Record<string, ApiKey> = { 'sk-some': { id: 'key-2', name: 'some', models: ['fast'] } }
const providers = [
  upstreamAt('https://models.internal.example/v1', 'openai', 'openai'),
  upstreamAt('https://models.internal.example', 'claude', 'anthropic')
]

interface Info {
  readonly model_name: string
  readonly litellm_params: { readonly model: string }
  readonly model_info: { readonly id: string }
}

async function infos (response: Response): Promise<Info[]> {
  return (await response.json() as { readonly data: Info[] }).data
}

t.test('each model of each name is listed with limits and prices, without provider addresses', async t => {
  const { get, url } = await testGateway(
    t,
    { providers, routes: [{ name: 'fast', models: ['openai/gpt-4o-mini', 'claude/claude-haiku-4-5'] }] },
    keys
  )
  for (const path of ['/v1/model/info', '/model/info']) {
    const response = await get(path)
    const text = await response.clone().text()
    t.notMatch(text, /internal\.example/)
    const all = await infos(response)
    t.same(
      all
        .filter(({ model_name: name }) => name === 'fast')
        .map(({ litellm_params: params }) => params.model),
      ['openai/gpt-4o-mini', 'claude/claude-haiku-4-5'],
      path
    )
    t.match(
      all.find(({ model_name: name }) => name === 'openai/gpt-4o-mini'),
      {
        litellm_params: { model: 'openai/gpt-4o-mini' },
        model_info: {
          id: 'openai/gpt-4o-mini',
          litellm_provider: 'openai',
          input_cost_per_token: 1.5e-7,
          output_cost_per_token: 6e-7,
          max_input_tokens: Number,
          supports_vision: true,
          supports_function_calling: true
        }
      }
    )
  }
  t.same(
    (await infos(await get('/model/info?litellm_model_id=openai/gpt-4o'))).map(
      ({ model_info: { id } }) => id
    ),
    ['openai/gpt-4o']
  )
  const some = await fetch(`${url}/model/info`, { headers: { authorization: 'Bearer sk-some' } })
  t.same(
    new Set((await infos(some)).map(({ model_name: name }) => name)),
    new Set(['fast']),
    'what the key may use'
  )
  t.equal((await fetch(`${url}/model/info`)).status, 401)
})

t.test('without aliases the endpoint does not exist and is not documented', async t => {
  const { server } = settings()
  const { get } = await testGateway(t, { providers, server: { ...server, aliases: false } })
  t.same([(await get('/v1/model/info')).status, (await get('/model/info')).status], [404, 404])
  const { paths } = await (await get('/openapi.json')).json() as { paths: object }
  t.notOk('/v1/model/info' in paths)
  t.ok(endpointDocs.some(({ path }) => path === '/v1/model/info'))
})
