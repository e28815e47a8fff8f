import t from 'tap'
import { createModels } from '../../lib/models/create-models.ts'
import {
  checkOneProvider,
  callerProviderKey,
  providerChoice,
  routesByChoice,
  type ProviderChoice,
  orderByCaller,
  applyPreferences,
  readPreferences
} from '../../lib/routing/provider-choice.ts'
import { Secret } from '../../lib/core/secret.ts'
import { route } from '../support/routes.ts'
import { modelSettings, provider, settings } from '../support/settings.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

const providers = new Map(
  [provider('openai'), provider('anthropic', false), provider('groq')].map(each => [each.id, each])
)
const key = new Secret('sk-1')

t.test('a call without the headers leaves the choice to the gateway; empty ones are ignored', async t => {
  for (const headers of [{}, { 'x-provider': '', 'x-provider-key': '  ', 'x-provider-model': '' }]) {
    t.equal(providerChoice(headers, providers), undefined)
  }
})

t.test('headers are trimmed, and the provider is matched in any case', async t => {
  t.strictSame(providerChoice({ 'x-provider': ' OpenAI ', 'x-provider-model': ' gpt-5 ' }, providers), {
    providerId: 'openai',
    model: 'gpt-5'
  })
  t.equal(providerChoice({ 'x-provider-key': [' sk-1 ', 'sk-2'] }, providers)?.key?.reveal(), 'sk-1')
})

t.test(
  'an unknown provider is refused with the known ones; a disabled one needs a key',
  async t => {
    t.throws(() => providerChoice({ 'x-provider': 'xai' }, providers), {
      code: 'unknown_provider',
      param: 'X-Provider',
      message: '`X-Provider` must be one of: groq, openai.'
    })
    t.throws(() => providerChoice({ 'x-provider': 'anthropic' }, providers), { code: 'unknown_provider' })
    t.throws(() => providerChoice({ 'x-provider': 'xai', 'x-provider-key': 'k' }, providers), {
      message: '`X-Provider` must be one of: anthropic, groq, openai.'
    })
    t.match(providerChoice({ 'x-provider': 'anthropic', 'x-provider-key': 'k' }, providers), {
      providerId: 'anthropic'
    })
  }
)

t.test('a key that is invalid in a header is refused without being shown', async t => {
  t.equal(callerProviderKey({}), undefined)
  try {
    callerProviderKey({ 'x-provider-key': 'sk-→' })
    t.fail('accepted')
  } catch (error) {
    t.match(error, { code: 'invalid_value', param: 'X-Provider-Key' })
    t.notMatch(String(error), 'sk-→')
  }
})

t.test('routes of a call that chooses', async t => {
  const models = createModels(
    settings({
      models: [modelSettings('openai/gpt-4o', { status: 'disabled' })],
      routes: [{ name: 'both', models: ['openai/gpt-5', 'groq/llama'] }]
    }),
    new Set(['openai', 'groq'])
  )
  const ids = (choice: ProviderChoice, name: string): string[] =>
    routesByChoice(choice, name, models, providers).map(({ modelId }) => modelId)
  t.same(ids({ key }, 'openai/gpt-5'), ['openai/gpt-5'], 'a key is for the provider of the model')
  t.same(ids({ key }, 'both'), ['openai/gpt-5', 'groq/llama'], 'or all of a route, to be checked')
  t.same(ids({ providerId: 'groq' }, 'both'), ['groq/llama'], 'of a route, what the named provider serves')
  t.same(
    ids({ providerId: 'groq' }, 'other'),
    ['groq/other'],
    'a model that is not known is called by its name'
  )
  t.same(ids({ providerId: 'anthropic', key }, 'claude-new'), ['anthropic/claude-new'])
  t.same(
    ids({ model: 'gpt-6' }, 'openai/gpt-5'),
    ['openai/gpt-6'],
    'the model of the header instead of the one in the body'
  )
  t.same(ids({ providerId: 'openai' }, 'openai/gpt-4o'), [], 'a disabled model has none')
})

t.test(
  "a key without a recognisable provider is refused, as is a disabled provider's model without a key",
  async t => {
    const models = createModels(settings(), new Set(['openai']))
    t.throws(() => routesByChoice({ key }, 'something', models, providers), { code: 'unknown_provider' })
    t.throws(() => routesByChoice({ model: 'claude' }, 'anthropic/claude', models, providers), {
      code: 'unknown_provider'
    })
  }
)

t.test('a key is used for one provider only', async t => {
  t.doesNotThrow(() => checkOneProvider([]))
  t.doesNotThrow(() => checkOneProvider([route('one/a'), route('one/b')]))
  t.throws(() => checkOneProvider([route('one/a'), route('two/b')]), {
    code: 'invalid_value',
    param: 'model'
  })
})

const routes = ['openai/gpt-5', 'anthropic/claude', 'mistral/large'].map(id => route(id))
const prices: Record<string, number | undefined> = { 'openai/gpt-5': 3, 'anthropic/claude': 5 }
function find (id: string): ModelEntry | undefined {
  const [providerId = '', model = ''] = id.split('/')
  const input = prices[id]
  return {
    ...unknownModelEntry(providerId, model, 'openai'),
    ...input !== undefined && { price: { input, asOf: '2026-01-01' } }
  }
}

t.test('the headers are read, and a call without any has no choice', async t => {
  t.equal(readPreferences({ 'x-other': 'a' }), undefined)
  t.strictSame(
    readPreferences({
      'x-headgate-only': [' openai , ', 'anthropic/claude'],
      'x-headgate-order': 'mistral',
      'x-headgate-max-price': ' 2.50 '
    }),
    { only: ['openai', 'anthropic/claude'], order: ['mistral'], maxPrice: 2.5 }
  )
  t.strictSame(readPreferences({ 'x-headgate-max-price': '0' }), { maxPrice: 0 })
})

t.test(
  'an empty or too long list and an invalid price are refused by the name of the header',
  async t => {
    const many = (count: number): string =>
      Array.from({ length: count }, (_, index) => `m${index}`).join(',')
    t.equal(readPreferences({ 'x-headgate-only': many(16) })?.only?.length, 16)
    for (const [name, text] of [
      ['only', ''],
      ['order', ' , '],
      ['only', many(17)]
    ] as const) {
      const title = name === 'only' ? 'X-Headgate-Only' : 'X-Headgate-Order'
      t.throws(() => readPreferences({ [`x-headgate-${name}`]: text }), {
        code: 'invalid_value',
        param: title,
        message: `${title} must list 1 to 16 providers or models, separated by commas.`
      })
    }
    for (const text of ['', '-1', '1e3', 'free', '1,5', '9'.repeat(400)]) {
      t.throws(
        () => readPreferences({ 'x-headgate-max-price': text }),
        { code: 'invalid_value', param: 'X-Headgate-Max-Price' },
        text
      )
    }
  }
)

t.test('only the named routes stay: by provider, pattern, id or name', async t => {
  for (const name of ['anthropic', 'anthropic/*', 'anthropic/claude', 'claude']) {
    const { routes: left, skipped } = applyPreferences(routes, { only: [name] }, find)
    t.same(
      left.map(({ modelId }) => modelId),
      ['anthropic/claude'],
      name
    )
    t.same(
      skipped.map(({ route, reason }) => [route.modelId, reason]),
      [
        ['openai/gpt-5', 'not_in_only'],
        ['mistral/large', 'not_in_only']
      ]
    )
  }
})

t.test('models above the price, or without a known one, are left out', async t => {
  const { routes: left, skipped } = applyPreferences(routes, { maxPrice: 3 }, find)
  t.same(
    left.map(({ modelId }) => modelId),
    ['openai/gpt-5']
  )
  t.same(
    skipped.map(({ route, reason }) => [route.modelId, reason]),
    [
      ['anthropic/claude', 'over_max_price'],
      ['mistral/large', 'price_unknown']
    ]
  )
})

t.test('a choice that leaves nothing is refused', async t => {
  t.throws(() => applyPreferences(routes, { only: ['xai'] }, find), {
    param: 'X-Headgate-Only',
    message: 'X-Headgate-Only excludes every model of this call.'
  })
  t.throws(() => applyPreferences(routes, { maxPrice: 1 }, find), {
    code: 'invalid_value',
    param: 'X-Headgate-Max-Price',
    message: 'X-Headgate-Max-Price excludes every model of this call.'
  })
})

t.test('routes named by the caller come first, in that order; the others keep theirs', async t => {
  t.equal(orderByCaller(routes, {}), routes)
  t.strictSame(orderByCaller(routes, { order: ['xai', 'mistral', 'claude', 'anthropic'] }), [
    { ...route('mistral/large'), preferred: 'caller_order' },
    { ...route('anthropic/claude'), preferred: 'caller_order' },
    route('openai/gpt-5')
  ])
})
