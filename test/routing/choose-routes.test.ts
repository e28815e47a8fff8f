import t from 'tap'
import type { ApiKey } from '../../lib/core/key.ts'
import type { ValidCall } from '../../lib/core/call.ts'
import { createModels } from '../../lib/models/create-models.ts'
import {
  chooseRoutes,
  type ChooseRoutesOptions,
  type ChosenRoutes,
  type ModelRequest
} from '../../lib/routing/choose-routes.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { modelSettings, provider, settings } from '../support/settings.ts'
import { receivedCall } from '../support/stages.ts'

/** OpenAI and Google are enabled; Anthropic serves only callers with their own key. */
const providers = new Map([
  ['openai', provider('openai')],
  ['google', provider('google')],
  ['anthropic', provider('anthropic', false)]
])
const models = createModels(
  settings({
    models: [modelSettings('openai/o3', { status: 'disabled' })],
    routes: [
      { name: 'fast', models: ['openai/gpt-5-nano', 'google/gemini-2.5-flash'] },
      {
        name: 'settled',
        models: ['openai/gpt-5'],
        defaults: { 'openai/gpt-5': { max_completion_tokens: 8000, seed: 1 } }
      }
    ]
  }),
  new Set(['openai', 'google'])
)

interface Given {
  headers?: Record<string, string>
  key?: Partial<ApiKey>
  options?: ChooseRoutesOptions<ModelRequest>
}

async function route (
  model: ModelRequest['model'],
  given: Given = {}
): Promise<ChosenRoutes & ValidCall<ModelRequest>> {
  const call: ValidCall<ModelRequest> = receivedCall({
    headers: given.headers ?? {},
    key: { id: 'k', name: 'k', ...given.key },
    request: model === undefined ? {} : { model }
  })
  return {
    ...call,
    ...chooseRoutes(
      call,
      { models, providers, settings: settings() },
      { settings: requested => requested, ...given.options }
    )
  }
}

const ids = ({ routes }: ChosenRoutes) => routes.map(({ modelId }) => modelId)

t.test('a model is given by its id, with settings, or in a list of both', async t => {
  t.match((await route('openai/gpt-5')).routes, [
    {
      providerId: 'openai',
      model: 'gpt-5',
      modelId: 'openai/gpt-5',
      traits: { sampling: false },
      settings: undefined
    }
  ])
  t.match((await route({ model: 'openai/gpt-5', settings: { temperature: 0 } })).routes, [
    { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5', settings: { temperature: 0 } }
  ])
  const { routes, record } = await route([
    'google/gemini-2.5-pro',
    { model: 'openai/gpt-5', settings: { n: 2 } }
  ])
  t.match(routes, [
    {
      providerId: 'google',
      model: 'gemini-2.5-pro',
      modelId: 'google/gemini-2.5-pro',
      traits: { thinking: ['budget'], penalties: false }
    },
    { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5', settings: { n: 2 } }
  ])
  t.equal(record.request.requestedModel, 'google/gemini-2.5-pro, openai/gpt-5')
})

t.test('settings of the request override those of a configured route, under any name', async t => {
  const settled = async (settings?: object): Promise<unknown> =>
    (await route(settings === undefined ? 'settled' : { model: 'settled', settings })).routes[0].settings
  t.strictSame(await settled(), { max_completion_tokens: 8000, seed: 1 })
  t.strictSame(await settled({ max_tokens: 50 }), { seed: 1, max_tokens: 50 })
  t.equal(
    (await route('settled', { options: { settings: undefined as never } })).routes[0].settings,
    undefined,
    'on endpoints that have none'
  )
})

t.test('a configured route gives several models, each once', async t => {
  t.same(ids(await route('fast')), ['openai/gpt-5-nano', 'google/gemini-2.5-flash'])
  t.same(ids(await route(['google/gemini-2.5-flash', 'fast', 'gpt-5-nano'])),
    ['google/gemini-2.5-flash', 'openai/gpt-5-nano'])
})

t.test('an unknown model is refused with the most similar one, even next to a known one', async t => {
  const error = {
    code: 'model_not_found', status: 404, param: 'model', message: /`openai\/o3`.*Did you mean/
  }
  await t.rejects(route('openai/o3'), { ...error, message: /`openai\/o3` does not exist or is not enabled/ })
  await t.rejects(route(['openai/gpt-5', 'opneai/gpt-5-nano']),
    { ...error, message: /`opneai\/gpt-5-nano`.*Did you mean `openai\/gpt-5-nano`\?/ })
  await t.rejects(route('anthropic/claude-sonnet-5'), {
    code: 'model_not_found',
    message:
      'The model `anthropic/claude-sonnet-5` is not available: the provider `anthropic` is not enabled here.'
  })
  await t.rejects(route('anthropic/claude-of-tomorrow'), {
    code: 'model_not_found',
    message: /does not exist or is not enabled/
  })
})

t.test('a very long name is shortened in the error', async t => {
  const name = 'x'.repeat(100_000)
  const error = await route(name).catch((error: unknown) => error)
  t.ok(error instanceof Error && error.message.length < 300)
})

t.test('a request without a model uses the default of its endpoint, or is refused', async t => {
  t.same(ids(await route(undefined, { options: { defaultModel: () => 'openai/dall-e-2' } })), [
    'openai/dall-e-2'
  ])
  t.same(ids(await route('openai/dall-e-3', { options: { defaultModel: () => 'openai/dall-e-2' } })), [
    'openai/dall-e-3'
  ])
  await t.rejects(route(undefined, { options: { defaultModel: () => 'mistral/ocr' } }), {
    code: 'model_not_found',
    message: '`model` is required: the default of this endpoint, `mistral/ocr`, is not enabled here.'
  })
  await t.rejects(route(undefined), {
    code: 'invalid_value',
    status: 422,
    detail: [{ loc: ['body', 'model'], type: 'missing' }]
  })
  await t.rejects(route([]), { code: 'invalid_value', status: 422 })
})

t.test('a key may use only its models', async t => {
  const google = { key: { models: ['google/*'] } }
  t.same(ids(await route('google/gemini-2.5-pro', google)), ['google/gemini-2.5-pro'])
  t.same(ids(await route('fast', google)), ['google/gemini-2.5-flash'], 'the part of the route it may use')
  const refused = { code: 'insufficient_permissions', status: 403, param: 'model' }
  await t.rejects(route('openai/gpt-5', google), refused)
  await t.rejects(route(['google/gemini-2.5-pro', 'openai/gpt-5'], google), refused)
  await t.rejects(route('gpt-5', { key: { models: ['openai/gpt-5-nano'] } }), refused)
  await t.rejects(route('openai/gpt-5', { key: { models: [] } }), refused)
  t.same(ids(await route('fast', { key: { models: ['fast'] } })), [
    'openai/gpt-5-nano',
    'google/gemini-2.5-flash'
  ])
  await t.rejects(route('openai/gpt-5', { ...google, headers: { 'x-provider-key': 'sk-own' } }), refused)
})

t.test('a key of the caller', async t => {
  const own = { 'x-provider-key': 'sk-own' }

  t.test('travels with the call, and is shown nowhere', async t => {
    const call = await route('openai/gpt-5', { headers: own })
    t.equal(call.providerKey?.reveal(), 'sk-own')
    t.notMatch(JSON.stringify({ key: call.providerKey, routes: call.routes, record: call.record }), /sk-own/)
    t.notOk('providerKey' in await route('openai/gpt-5'))
  })

  t.test('enables a provider without a gateway key, named by the prefix or the header', async t => {
    t.match((await route('anthropic/claude-3-5-sonnet', { headers: own })).routes, [{
      providerId: 'anthropic', model: 'claude-3-5-sonnet-20241022', modelId: 'anthropic/claude-3-5-sonnet'
    }])
    t.match((await route('claude-next', { headers: { ...own, 'x-provider': 'Anthropic' } })).routes,
      [{ providerId: 'anthropic', model: 'claude-next', modelId: 'anthropic/claude-next' }])
  })

  t.test('must be valid in a header', async t => {
    for (const key of ['wide\u200b', 'delete\x7f']) {
      await t.rejects(route('openai/gpt-5', { headers: { 'x-provider-key': key } }), {
        code: 'invalid_value', status: 400, param: 'X-Provider-Key'
      })
    }
  })

  t.test('may come with the name of the model at the provider', async t => {
    const headers = { ...own, 'x-provider-model': 'gpt-5-ft:me' }
    t.match((await route('openai/gpt-5', { headers })).routes,
      [{ providerId: 'openai', model: 'gpt-5-ft:me', modelId: 'openai/gpt-5-ft:me' }])
  })

  t.test('is used for one provider only', async t => {
    await t.rejects(route('fast', { headers: own }), { code: 'invalid_value', param: 'model' })
    await t.rejects(route(['openai/gpt-5', 'anthropic/claude-x'], { headers: own }), {
      code: 'invalid_value'
    })
    t.same(ids(await route('fast', { headers: { ...own, 'x-provider': 'google' } })), [
      'google/gemini-2.5-flash'
    ])
    const elsewhere = await route('openai/gpt-5', { headers: { ...own, 'x-provider': 'google' } })
    t.same(elsewhere.routes, [
      { providerId: 'google', model: 'openai/gpt-5', modelId: 'google/openai/gpt-5' }
    ])
  })

  t.test('does not enable what the configuration disabled', async t => {
    await t.rejects(route('openai/o3', { headers: own }), { code: 'model_not_found' })
  })

  t.test('needs a provider that exists', async t => {
    const error = {
      code: 'unknown_provider', status: 400, param: 'X-Provider', message: /: anthropic, google, openai\./
    }
    await t.rejects(route('openai/gpt-5', { headers: { ...own, 'x-provider': 'missing' } }), error)
    await t.rejects(route('missing/x', { headers: own }), error)
    await t.rejects(route('x', { headers: own }), error)
    const url = { ...own, 'x-provider': 'http://127.0.0.1:1/' }
    await t.rejects(route('openai/gpt-5', { headers: url }), error)
  })
})

t.test('without their own key, callers choose among the enabled providers', async t => {
  t.same(ids(await route('gpt-5', { headers: { 'x-provider': 'openai' } })), ['openai/gpt-5'])
  t.same(ids(await route('gpt-next', { headers: { 'x-provider': 'openai' } })), ['openai/gpt-next'])
  t.same(ids(await route('openai/gpt-5', { headers: { 'x-provider': ' ' } })), ['openai/gpt-5'])
  t.same(
    ids(await route('openai/gpt-5', { headers: { 'x-provider-model': 'gpt-next' } })),
    ['openai/gpt-next'],
    'at the provider of the model'
  )
  await t.test('and the model named with the call is then called', async t => {
    const names = async (model: string, headers: Record<string, string>) =>
      (await route(model, { headers })).requestedNames
    t.same(await names('fast', { 'x-provider': 'openai' }), ['fast'], 'one of its models')
    t.same(await names('fast', { 'x-provider-model': 'gpt-5' }), ['openai/gpt-5'])
    t.same(await names('settled', { 'x-provider': 'google' }), ['google/settled'])
    t.same(await names('gpt-5', { 'x-provider': 'openai' }), ['gpt-5'])
  })
  await t.rejects(
    route('anthropic/claude-x', { headers: { 'x-provider-model': 'claude-y' } }),
    { code: 'unknown_provider' },
    'which the gateway has no key for'
  )
  await t.rejects(route('claude-x', { headers: { 'x-provider': 'anthropic' } }), {
    code: 'unknown_provider',
    message: /: google, openai\./
  })
})

t.test('a session is computed once, and only if routes or credentials depend on it', async t => {
  const targets = ['openai/gpt-5', 'google/gemini-2.5-flash']
  const own = createModels(
    settings({
      routes: [
        { name: 'drawn', models: targets, strategy: 'weighted', affinity: true },
        { name: 'in-order', models: targets }
      ]
    }),
    new Set(['openai', 'google'])
  )
  const several = new RoutingState()
  several.addCredentials('openai', [1, 1])
  const session = { id: 'k\ns', draw: () => 0.5 }
  for (const [model, routingState, times] of [
    ['in-order', undefined, 0],
    ['openai/gpt-5', undefined, 0],
    ['openai/gpt-5', several, 1],
    [['drawn', 'openai/gpt-5-nano'], several, 1]
  ] as const) {
    let found = 0
    const chosen = chooseRoutes(
      receivedCall({ headers: {}, key: { id: 'k', name: 'k' }, request: { model } }),
      { models: own, providers, routingState, settings: settings() },
      {
        session: () => {
          found++
          return session
        }
      }
    )
    t.equal(found, times, String(model))
    t.equal(chosen.session, times === 0 ? undefined : session)
  }
})
