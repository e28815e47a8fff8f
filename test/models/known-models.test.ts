import t from 'tap'
import {
  unknownModelEntry,
  collectModels,
  kindsById,
  modelOfSnapshot,
  snapshotOf
} from '../../lib/models/known-models.ts'
import { catalogueOf as priceMap } from '../../lib/models/price-map.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Settings } from '../../lib/core/settings.ts'

function collect (
  parts: Partial<Settings>,
  discovered: Record<string, readonly ModelEntry[]> = {},
  extra: readonly ModelEntry[] = []
): Map<string, ModelEntry> {
  return collectModels({ settings: settings(parts), extra, discovered: new Map(Object.entries(discovered)) })
}

t.test(
  'well-known providers have their own kind unless the configuration gives their name to another',
  async t => {
    const kinds = kindsById({
      providers: [providerSettings('gpu', 'vllm'), providerSettings('openai', 'azure-openai')]
    })
    t.same(
      [kinds.get('anthropic'), kinds.get('gpu'), kinds.get('openai'), kinds.get('none')],
      ['anthropic', 'vllm', 'azure-openai', undefined]
    )
  }
)

t.test('later sources win: list, catalogue, models a provider brings along, configuration', async t => {
  const entry = (displayName: string): ModelEntry => ({
    ...unknownModelEntry('openai', 'gpt-5', 'openai'),
    displayName
  })
  const name = (...args: Parameters<typeof collect>) => collect(...args).get('openai/gpt-5')?.displayName
  t.equal(name({}, { openai: [entry('listed')] }), 'GPT-5')
  t.equal(name({}, { openai: [entry('listed')] }, [entry('brought')]), 'brought')
  t.equal(
    name({ models: [modelSettings('openai/gpt-5', { displayName: 'ours' })] }, {}, [entry('brought')]),
    'ours'
  )
  t.equal(
    collect({}, { openai: [{ ...entry('new'), id: 'openai/new' }] }).get('openai/new')?.displayName,
    'new'
  )
})

t.test('models of a service without a kind belong to every provider with its address', async t => {
  const catalogue = {
    file: 'prices.json',
    ...priceMap(
      { 'moonshot/kimi-k2': { litellm_provider: 'moonshot', input_cost_per_token: 6e-7 } },
      [],
      'prices.json',
      '2026-11-27'
    )
  }
  const at = (id: string, baseUrl: string) => ({ ...providerSettings(id, 'openai-compatible'), baseUrl })
  const models = collect({
    catalogue,
    providers: [
      at('moonshot-2', 'https://api.moonshot.ai/v1'),
      at('moonshot', 'https://moonshot.example.com/v1')
    ]
  })
  t.equal(models.get('moonshot-2/kimi-k2')?.price?.input, 0.6)
  t.equal(models.get('moonshot-2/kimi-k2')?.upstreamApi, 'openai-compatible')
  t.notOk(models.has('moonshot/kimi-k2'), 'a name says nothing of what is served')
})

t.test('the configuration of a model changes what it sets and keeps the rest', async t => {
  const before = collect({}).get('openai/gpt-5')
  const after = collect({
    models: [
      modelSettings('openai/gpt-5', {
        price: { input: 9 },
        capabilities: { vision: false },
        attributes: { speed: 1 }
      })
    ]
  }).get('openai/gpt-5')
  t.strictSame(after, {
    ...before,
    price: { input: 9, asOf: new Date().toISOString().slice(0, 10) },
    capabilities: { ...before?.capabilities, vision: false },
    attributes: { speed: 1 }
  })
})

t.test('an alias is not a model, and a model of an unknown provider is refused', async t => {
  t.equal(collect({ models: [modelSettings('smart', { alias: 'openai/gpt-5' })] }).has('smart'), false)
  t.throws(() => collect({ models: [modelSettings('missing/x')] }), {
    message: 'models: "missing/x" does not start with the id of a provider and a slash.'
  })
})

t.test('a snapshot has the data of its model, under its own name and date', async t => {
  const models = collect({})
  const base = modelOfSnapshot('openai/gpt-4o-2024-08-06', models)
  t.equal(base?.id, 'openai/gpt-4o')
  t.equal(modelOfSnapshot('openai/gpt-4o', models), undefined)
  if (base === undefined) return
  t.strictSame(snapshotOf(base, 'openai/gpt-4o-2024-08-06'), {
    ...base, id: 'openai/gpt-4o-2024-08-06', model: 'gpt-4o-2024-08-06', createdAt: '2024-08-06T00:00:00Z'
  })
  t.equal(
    snapshotOf(base, 'openai/gpt-4o-latest').createdAt,
    base.createdAt,
    'a name without a day has that of the model'
  )
})

t.test('the limit of a snapshot does not depend on the order of the configuration', async t => {
  const models = [
    modelSettings('anthropic/claude-own', { capabilities: { output_token_limit: 8000 } }),
    modelSettings('anthropic/claude-own-20260101', { capabilities: { output_token_limit: 64_000 } })
  ]
  for (const ordered of [models, models.toReversed()]) {
    const collected = collect({ models: ordered })
    t.same(models.map(({ id }) => collected.get(id)?.traits?.maxOutputTokens), [8000, 64_000])
  }
})
