import t from 'tap'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { inCallerOrder, applyPreferences, readPreferences } from '../../lib/routing/preferences.ts'
import { route } from '../support/routes.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

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

t.test('the headers are read, and a call without any has none', async t => {
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
  'an empty list, one that is too long and a price that is none are refused by the name of the header',
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

t.test('only what is named stays: by provider, by pattern, by id or by name', async t => {
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

t.test('what the caller names comes first, in that order; the others stay as they were', async t => {
  t.equal(inCallerOrder(routes, {}), routes)
  t.strictSame(inCallerOrder(routes, { order: ['xai', 'mistral', 'claude', 'anthropic'] }), [
    { ...route('mistral/large'), preferred: 'caller_order' },
    { ...route('anthropic/claude'), preferred: 'caller_order' },
    route('openai/gpt-5')
  ])
})
