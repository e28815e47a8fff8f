import t from 'tap'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { buildIndex, type ModelIndex } from '../../lib/models/model-index.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Settings } from '../../lib/core/settings.ts'

function indexOf (
  ids: readonly string[],
  parts: Partial<Settings> = {},
  changes: Record<string, Partial<ModelEntry>> = {},
  enabled = ['a', 'b']
): ModelIndex {
  const entries = new Map(
    ids.map((id): [string, ModelEntry] => {
      const slash = id.indexOf('/')
      return [id, { ...unknownModelEntry(id.slice(0, slash), id.slice(slash + 1), 'vllm'), ...changes[id] }]
    })
  )
  const providers = [
    providerSettings('a', 'vllm'),
    providerSettings('b', 'vllm'),
    providerSettings('c', 'ollama')
  ]
  return buildIndex(entries, settings({ providers, ...parts }), new Set(enabled))
}

const resolved = (index: ModelIndex, id: string): string[] => index.resolve(id).map(({ modelId }) => modelId)

t.test(
  'of two things of one name a route wins over an alias, that over an id, and that over a bare name',
  async t => {
    const ids = ['a/x', 'a/y', 'a/z', 'b/only']
    t.same(resolved(indexOf(ids), 'only'), ['b/only'])
    t.same(resolved(indexOf(ids, { models: [modelSettings('only', { alias: 'a/x' })] }), 'only'), ['a/x'])
    t.same(resolved(indexOf(ids, { models: [modelSettings('a/y', { alias: 'a/x' })] }), 'a/y'), ['a/x'])
    t.same(
      resolved(
        indexOf(ids, {
          models: [modelSettings('only', { alias: 'a/x' })],
          routes: [{ name: 'only', models: ['a/z'] }]
        }),
        'only'
      ),
      ['a/z']
    )
  }
)

t.test('an alias of nothing takes the name away', async t => {
  t.same(resolved(indexOf(['a/x', 'c/z'], { models: [modelSettings('x', { alias: 'c/z' })] }), 'x'), [])
})

t.test('a bare name of several means the first of one kind, and nothing for several kinds', async t => {
  t.same(
    resolved(indexOf(['b/x', 'a/x']), 'x'),
    ['a/x'],
    'the first in the configuration, whichever became known first'
  )
  const providers = [providerSettings('b', 'vllm'), providerSettings('vllm', 'vllm')]
  t.same(
    resolved(indexOf(['b/x', 'vllm/x'], { providers }, {}, ['b', 'vllm']), 'x'),
    ['vllm/x'],
    'the one named after its kind comes before it'
  )
  t.same(resolved(indexOf(['a/x', 'c/x'], {}, {}, ['a', 'c']), 'x'), [])
  t.same(resolved(indexOf(['a/x', 'c/x']), 'x'), ['a/x'], 'what cannot be called does not count')
})

t.test('a disabled model has no route by its id, its name, or that of its provider for it', async t => {
  const index = indexOf(['a/x', 'a/y'], {}, { 'a/x': { status: 'disabled', model: 'x-2024' } })
  t.same(['a/x', 'x', 'a/x-2024'].flatMap(id => resolved(index, id)), [])
  t.equal(index.routeTo('a', 'x'), undefined)
  t.equal(index.routeTo('a', 'x-2024'), undefined)
  t.ok(index.find('a/x'), 'it is known all the same')
  t.same(index.listed.map(({ id }) => id), ['a/y'])
})

t.test('a snapshot and other letters are variants of a model, and no way to one that is disabled', async t => {
  const ids = ['a/x', 'a/off', 'a/y', 'a/y-2030-01-31', 'a/Y']
  const index = indexOf(ids, {}, { 'a/off': { status: 'disabled' } })
  const variants = ['a/x', 'a/X', 'a/x-2030-01-31', 'a/X-latest', 'a/x:latest', 'a/y-2030-01-31', 'a/z']
  t.same(
    variants.map(id => index.resolve(id)[0]?.variantOf),
    [undefined, 'a/x', 'a/x', 'a/x', 'a/x', 'a/y', undefined]
  )
  t.same(index.resolve('a/X')[0]?.model, 'X', 'the server decides what it means')
  for (const id of ['a/off', 'a/OFF', 'a/off-2030-01-31', 'a/Off:latest']) t.same(index.resolve(id), [], id)
})

t.test('a name that a server may read without what is around it is no name of a model', async t => {
  const index = indexOf(['a/x'])
  for (const name of [' x', 'x ', 'x\n', 'x\0', '\u00a0x', 'x\u200b', '\ufeffx', 'x\ud800']) {
    t.same(index.resolve(`a/${name}`), [], JSON.stringify(name))
    t.same(index.routeTo('a', name), undefined)
  }
  t.same(resolved(index, 'a/my model'), ['a/my model'])
})

t.test('names that refer to a model are those of models, bare names, aliases and routes', async t => {
  const index = indexOf(['a/x', 'a/o/p', 'c/z'], {
    models: [modelSettings('alias', { alias: 'a/x' })],
    routes: [{ name: 'route', models: ['c/z'] }]
  })
  t.same([...index.names()].toSorted(), ['a/o/p', 'a/x', 'alias', 'x'])
  t.same([...index.idsByName], [['x', ['a/x']]])
})

t.test('a hidden model answers, and is not listed; the list is in the order of ids', async t => {
  const index = indexOf(['b/y', 'a/x', 'a/h'], { models: [modelSettings('a/h', { hidden: true })] })
  t.same(index.listed.map(({ id }) => id), ['a/x', 'b/y'])
  t.same(resolved(index, 'a/h'), ['a/h'])
})

t.test('an alias with a wildcard stands for names that nothing else has', async t => {
  const models = [
    modelSettings('claude-*', { alias: 'a/x' }),
    modelSettings('claude-haiku-*', { alias: 'small' }),
    modelSettings('claude-own', { alias: 'b/y' }),
    modelSettings('small', { alias: 'b/y' })
  ]
  const index = indexOf(['a/x', 'b/y', 'b/claude-known'], { models })
  t.same(
    ['claude-opus-9', 'claude-haiku-9', 'claude-own', 'claude-known', 'b/claude-known'].map(id =>
      resolved(index, id)
    ),
    [['a/x'], ['b/y'], ['b/y'], ['a/x'], ['b/claude-known']]
  )
  t.same(resolved(index, 'other'), [])
  t.same(
    resolved(
      indexOf(['a/x', 'b/claude-one'], { models: [modelSettings('claude-*', { alias: 'claude-one' })] }),
      'claude-two'
    ),
    ['b/claude-one'],
    'also for a name that it matches itself'
  )
  t.notOk([...index.names()].some(name => name.includes('*')))
})

t.test('a name that only models of one provider have refers to it, known or not', async t => {
  const providers = [
    providerSettings('second', 'anthropic'),
    providerSettings('anthropic', 'anthropic'),
    providerSettings('a', 'vllm')
  ]
  const names = (enabled: string[]): string[] =>
    resolved(buildIndex(new Map(), settings({ providers }), new Set(enabled)), 'claude-haiku-9-20300101')
  t.same(names(['second', 'anthropic', 'a']), ['anthropic/claude-haiku-9-20300101'])
  t.same(names(['second', 'a']), ['second/claude-haiku-9-20300101'])
  t.same(names(['a']), [])
})

t.test(
  'a route marks prompts where its provider does and the fewest tokens that its model caches are known',
  async t => {
    const providers = [
      { ...providerSettings('a', 'anthropic'), cacheMarks: 'auto' as const },
      providerSettings('b', 'anthropic')
    ]
    const index = indexOf(
      ['a/x', 'a/y', 'b/x'],
      { providers },
      { 'a/x': { traits: { minCachedTokens: 7 } }, 'b/x': { traits: { minCachedTokens: 7 } } }
    )
    const minimum = (id: string) => index.resolve(id)[0]?.minMarkedTokens
    t.same(['a/x', 'a/y', 'b/x', 'a/claude-opus-5', 'a/claude-haiku-4-5'].map(minimum), [
      7,
      undefined,
      undefined,
      512,
      4096
    ])
  }
)
