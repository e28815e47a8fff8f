import t from 'tap'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { buildIndex, createModels, type ModelIndex } from '../../lib/models/create-models.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'

const openai = new Set(['openai'])
const ids = (routes: ReadonlyArray<{ modelId: string }>) => routes.map(route => route.modelId)

t.test('names become routes', async t => {
  t.test('a known model is called by its name at the provider', async t => {
    const models = createModels(settings(), new Set(['anthropic']))
    t.match(models.routes('anthropic/claude-3-5-sonnet'), [{
      providerId: 'anthropic', model: 'claude-3-5-sonnet-20241022', modelId: 'anthropic/claude-3-5-sonnet'
    }])
  })

  t.test('an unknown model goes to the provider of its prefix, which is stripped once', async t => {
    const models = createModels(settings(), new Set(['openrouter']))
    t.same(models.routes('openrouter/anthropic/claude-x:beta'), [{
      providerId: 'openrouter',
      model: 'anthropic/claude-x:beta',
      modelId: 'openrouter/anthropic/claude-x:beta'
    }])
  })

  t.test('models of disabled providers have no route', async t => {
    const models = createModels(settings(), openai)
    for (const id of ['google/gemini-2.5-pro', 'google/else', 'missing/x', 'openai/', '/x', '', 'openai']) {
      t.same(models.routes(id), [], id)
    }
  })

  t.test(
    'a bare name is the model of the one enabled provider that has it, or the first of several of a kind',
    async t => {
      const twice = settings({ providers: [providerSettings('backup', 'openai')] })
      t.same(ids(createModels(settings(), openai).routes('text-embedding-ada-002')), [
        'openai/text-embedding-ada-002'
      ])
      t.same(createModels(settings(), new Set(['google'])).routes('text-embedding-ada-002'), [])
      t.same(ids(createModels(twice, new Set(['openai', 'backup'])).routes('gpt-5')), ['openai/gpt-5'])
      t.same(ids(createModels(twice, new Set(['backup'])).routes('gpt-5')), ['backup/gpt-5'])
    }
  )

  t.test('the meaning of a bare name does not depend on which provider lists its models first', async t => {
    const providers = [providerSettings('alpha', 'vllm'), providerSettings('beta', 'vllm')]
    for (const order of [['alpha', 'beta'], ['beta', 'alpha']]) {
      const models = createModels(settings({ providers }), new Set(order))
      for (const id of order) models.setDiscovered(id, [unknownModelEntry(id, 'm1', 'vllm')])
      t.same(ids(models.routes('m1')), ['alpha/m1'], order.join())
      t.equal(models.suggest('gamma/m1'), 'alpha/m1')
    }
  })

  t.test('a name offered by servers of different kinds needs its prefix', async t => {
    const both = createModels(
      settings({ providers: [providerSettings('a', 'vllm'), providerSettings('b', 'ollama')] }),
      new Set(['a', 'b'])
    )
    both.setDiscovered('a', [unknownModelEntry('a', 'llama', 'vllm')])
    t.same(ids(both.routes('llama')), ['a/llama'])
    both.setDiscovered('b', [unknownModelEntry('b', 'llama', 'ollama')])
    t.same(both.routes('llama'), [])
  })

  t.test('a snapshot has the price, capabilities and status of its model', async t => {
    const models = createModels(
      settings({ models: [modelSettings('openai/gpt-4.1', { status: 'disabled' })] }),
      openai
    )
    t.match(models.find('openai/gpt-4o-2024-08-06'), {
      ...models.find('openai/gpt-4o'),
      id: 'openai/gpt-4o-2024-08-06',
      model: 'gpt-4o-2024-08-06',
      createdAt: '2024-08-06T00:00:00Z'
    })
    t.ok(models.find('openai/gpt-4o-2024-08-06')?.price)
    t.same(ids(models.routes('openai/gpt-4o-2024-08-06')), ['openai/gpt-4o-2024-08-06'])
    t.equal(models.find('openai/gpt-4o-2024-13-06'), undefined, 'no day of any calendar')
    for (const id of [
      'openai/gpt-4.1',
      'openai/gpt-4.1-2025-04-14',
      'openai/gpt-4.1-20250414',
      'openai/gpt-4.1-latest'
    ]) {
      t.same(models.routes(id), [], id)
      t.equal(models.routeTo('openai', id), undefined, id)
    }
    const chosen = createModels(
      settings({
        models: [
          modelSettings('openai/gpt-4.1', { status: 'disabled' }),
          modelSettings('openai/gpt-4.1-2025-04-14', { status: 'enabled' })
        ]
      }),
      openai
    )
    t.same(ids(chosen.routes('openai/gpt-4.1-2025-04-14')), ['openai/gpt-4.1-2025-04-14'])
    t.same(chosen.find('openai/gpt-4.1-2025-04-14')?.price, chosen.find('openai/gpt-4.1')?.price)
  })

  t.test('a route has what its model accepts: by family, catalogue or configuration', async t => {
    const models = createModels(
      settings({
        providers: [providerSettings('gpu', 'vllm'), providerSettings('claude', 'anthropic')],
        models: [
          modelSettings('gpu/bge', {
            traits: { embeddings: { dimensions: 1024, tokensPerInput: 512, tokensPerRequest: 8192 } }
          }),
          modelSettings('claude/claude-opus-5', { traits: { sampling: true } }),
          modelSettings('claude/claude-haiku-4-5', { capabilities: { output_token_limit: 8000 } }),
          modelSettings('claude/kimi', { capabilities: { output_token_limit: 9000 } }),
          modelSettings('openai/dall-e-2', { traits: { images: { maxImages: 3 } } })
        ]
      }),
      new Set(['gpu', 'claude', 'openai'])
    )
    const traits = (id: string) => models.routes(id)[0]?.traits
    t.same(traits('gpu/bge'), {
      embeddings: { dimensions: 1024, tokensPerInput: 512, tokensPerRequest: 8192 }
    })
    t.match(traits('claude/claude-opus-5'), { sampling: true, forcedTools: true, thinking: ['adaptive'] })
    t.match(traits('claude/claude-opus-5-20260724'), { sampling: true }, 'a snapshot of it')
    t.match(traits('claude/claude-opus-5-5'), { sampling: false, forcedTools: false })
    t.match(traits('claude/claude-haiku-4-5'), { sampling: true, maxOutputTokens: 8000 }, 'the lower limit')
    t.same(traits('claude/kimi'), { maxOutputTokens: 9000 })
    t.match(traits('claude/claude-later'), { sampling: false, forcedTools: true })
    t.equal(traits('gpu/claude-later'), undefined, 'families of a kind are of that kind only')
    t.match(traits('gpu/whisper-large-v3'), { transcription: { translation: true } })
    t.match(traits('openai/dall-e-2'), { images: { maxImages: 3, maxPromptCharacters: 1000 } })
  })

  t.test('a name with an unpaired surrogate has no route', async t => {
    const models = createModels(settings(), new Set(['google']))
    t.same(models.routes('google/\ud800'), [])
    t.equal(models.routeTo('google', 'x\udc00'), undefined)
    t.same(ids(models.routes('google/\u{1f600}')), ['google/\u{1f600}'])
  })

  t.test('a name that itself has a slash needs its prefix', async t => {
    const models = createModels(settings(), new Set(['groq']))
    t.same(models.routes('openai/gpt-oss-120b'), [])
    t.same(ids(models.routes('groq/openai/gpt-oss-120b')), ['groq/openai/gpt-oss-120b'])
  })

  t.test('preview and deprecated models work, disabled ones do not, under any name', async t => {
    const models = createModels(settings({
      models: [
        modelSettings('openai/gpt-5', { status: 'preview' }),
        modelSettings('openai/o3', { status: 'deprecated' }),
        modelSettings('openai/gpt-4o', { status: 'disabled' }),
        modelSettings('old', { alias: 'openai/gpt-4o' }),
        modelSettings('anthropic/claude-3-5-sonnet', { status: 'disabled' })
      ]
    }), new Set(['openai', 'anthropic']))
    t.same(ids(models.routes('openai/gpt-5')), ['openai/gpt-5'])
    t.same(ids(models.routes('openai/o3')), ['openai/o3'])
    const gone = [
      'openai/gpt-4o', 'gpt-4o', 'old',
      'anthropic/claude-3-5-sonnet', 'anthropic/claude-3-5-sonnet-20241022'
    ]
    const model = 'claude-3-5-sonnet-20241022'
    models.setDiscovered('anthropic', [{
      id: `anthropic/${model}`,
      providerId: 'anthropic',
      model,
      status: 'enabled',
      upstreamApi: 'anthropic/messages',
      capabilities: {}
    }])
    for (const id of gone) t.same(models.routes(id), [], id)
    t.equal(models.routeTo('openai', 'gpt-4o'), undefined)
  })

  t.test('a configured route gives its models in order, once each, without disabled ones', async t => {
    const models = createModels(settings({
      models: [
        modelSettings('smart', { alias: 'openai/gpt-5' }),
        modelSettings('openai/gpt-4o', { alias: 'smarter' }),
        modelSettings('smarter', { alias: 'round' }),
        modelSettings('lost', { alias: 'away' })
      ],
      routes: [
        {
          name: 'fast',
          models: ['openai/gpt-5-nano', 'google/gemini-2.5-flash', 'smart', 'gpt-5', 'openai/new']
        },
        { name: 'away', models: ['google/gemini-2.5-flash'] },
        { name: 'round', models: ['away', 'fast', 'openai/gpt-4.1'] },
        { name: 'tail', models: ['head', 'openai/o3'] },
        { name: 'head', models: ['tail'] }
      ]
    }), openai)
    t.same(ids(models.routes('fast')), ['openai/gpt-5-nano', 'openai/gpt-5', 'openai/new'])
    t.same(models.routes('away'), [])
    t.same(ids(models.routes('smart')), ['openai/gpt-5'])
    const all = ['openai/gpt-5-nano', 'openai/gpt-5', 'openai/new', 'openai/gpt-4.1']
    for (const name of ['round', 'smarter', 'openai/gpt-4o']) t.same(ids(models.routes(name)), all, name)
    t.same(models.routes('lost'), [])
    t.same(ids(models.routes('tail')), ['openai/o3'], 'what refers back to itself refers to nothing')
  })

  t.test('a route to a disabled provider can still be requested by name', async t => {
    const models = createModels(settings(), openai)
    t.match(models.routeTo('anthropic', 'anthropic/claude-3-5-sonnet'), {
      model: 'claude-3-5-sonnet-20241022'
    })
    t.match(models.routeTo('anthropic', 'claude-new'), {
      model: 'claude-new',
      modelId: 'anthropic/claude-new'
    })
  })
})

t.test('the list', async t => {
  t.test('has the models of enabled providers by id, without hidden and disabled ones', async t => {
    const models = createModels(settings({
      models: [
        modelSettings('openai/gpt-5', { hidden: true }),
        modelSettings('openai/o3', { status: 'disabled' })
      ]
    }), openai)
    const listed = models.list().map(({ id }) => id)
    t.ok(listed.every(id => id.startsWith('openai/')))
    t.same(listed, listed.toSorted())
    t.ok(listed.includes('openai/gpt-5-nano'))
    t.notOk(listed.includes('openai/gpt-5'))
    t.notOk(listed.includes('openai/o3'))
    t.same(ids(models.routes('openai/gpt-5')), ['openai/gpt-5'], 'hidden models still answer')
  })

  t.test('the configuration adds models and changes those of the catalogue', async t => {
    const models = createModels(settings({
      providers: [providerSettings('mine', 'vllm')],
      models: [
        modelSettings('mine/qwen', { displayName: 'Our Qwen', capabilities: { tools: true } }),
        modelSettings('openai/gpt-5', { price: { input: 9 }, capabilities: { vision: false } })
      ]
    }), new Set(['openai', 'mine']))
    t.match(models.list().find(({ id }) => id === 'mine/qwen'), {
      providerId: 'mine',
      model: 'qwen',
      displayName: 'Our Qwen',
      upstreamApi: 'openai-compatible',
      capabilities: { tools: true }
    })
    t.match(models.find('openai/gpt-5'), {
      displayName: 'GPT-5', price: { input: 9 }, capabilities: { vision: false, tools: true }
    })
  })

  t.test('a model of an unknown provider is refused', async t => {
    t.throws(() => createModels(settings({ models: [modelSettings('missing/x')] }), openai), /"missing\/x"/)
    t.throws(() => createModels(settings({ models: [modelSettings('x')] }), openai), /"x"/)
  })

  t.test('a catalogue model has the configured name of its provider', async t => {
    const models = createModels(settings({ providers: [providerSettings('eu', 'openai')] }), new Set(['eu']))
    t.match(models.find('eu/gpt-5'), { providerId: 'eu', model: 'gpt-5', displayName: 'GPT-5' })
    t.same(models.routes('openai/gpt-5'), [])
  })

  t.test('models brought along by a provider are listed', async t => {
    const echo: ModelEntry = {
      id: 'sandbox/echo',
      providerId: 'sandbox',
      model: 'echo',
      status: 'enabled',
      upstreamApi: 'sandbox',
      capabilities: {}
    }
    const models = createModels(settings(), new Set(['sandbox']), [echo])
    t.same(models.list(), [echo])
    t.same(ids(models.routes('echo')), ['sandbox/echo'])
  })
})

t.test('an unknown name gets a suggestion if one is similar', async t => {
  const models = createModels(settings({ routes: [{ name: 'fast', models: ['openai/gpt-5'] }] }),
    new Set(['openai', 'anthropic']))
  t.equal(models.suggest('openai/gpt-5-nanno'), 'openai/gpt-5-nano')
  t.equal(models.suggest('google/gpt-5'), 'openai/gpt-5')
  t.equal(models.suggest('fasd'), 'fast')
  t.equal(models.suggest('something else altogether'), undefined)
})

t.test('the strategy of a route applies if a caller names the route', async t => {
  const models = createModels(
    settings({
      models: [
        modelSettings('cheap', { alias: 'thrifty' }),
        modelSettings('openai/gpt-5', { price: { input: 9 } }),
        modelSettings('openai/gpt-5-mini', { price: { input: 1 } })
      ],
      routes: [
        { name: 'thrifty', models: ['openai/gpt-5', 'openai/gpt-5-mini'], strategy: 'cheapest' },
        {
          name: 'shared',
          models: ['openai/gpt-5', 'openai/gpt-5-mini'],
          strategy: 'weighted',
          weights: { 'openai/gpt-5': 0 }
        },
        { name: 'quick', models: ['openai/gpt-5', 'openai/gpt-5-mini'], strategy: 'fastest' },
        { name: 'through', models: ['shared', 'openai/gpt-5-nano'] }
      ]
    }),
    new Set(['openai']),
    [],
    { random: () => 0.5, latency: (id, streamed) => (id.endsWith('mini') === streamed ? 10 : 20) }
  )
  const ids = (name: string, streamed?: boolean): string[] =>
    models.routes(name, streamed).map(({ modelId }) => modelId)
  t.same(ids('thrifty'), ['openai/gpt-5-mini', 'openai/gpt-5'])
  t.same(ids('cheap'), ids('thrifty'), 'or an alias of it')
  t.same(models.routes('through').map(({ model, ranked }) => [model, ranked]),
    [['gpt-5', undefined], ['gpt-5-mini', undefined], ['gpt-5-nano', undefined]], 'but not within another')
  t.same(ids('shared'), ['openai/gpt-5-mini', 'openai/gpt-5'])
  t.same(ids('quick', true), ['openai/gpt-5-mini', 'openai/gpt-5'])
  t.same(ids('quick'), ['openai/gpt-5', 'openai/gpt-5-mini'], 'complete answers have times of their own')
  t.same(models.routes('quick')[0]?.ranked, { by: 'first_byte', value: 10 })
  t.same(models.routes('openai/gpt-5')[0]?.ranked, undefined)
})

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
  'among equal names a route wins over an alias, that over an id, and that over a bare name',
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

t.test('an alias of an unknown name hides the name', async t => {
  t.same(resolved(indexOf(['a/x', 'c/z'], { models: [modelSettings('x', { alias: 'c/z' })] }), 'x'), [])
})

t.test('an ambiguous bare name means the first of one kind, and nothing if the kinds differ', async t => {
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

t.test('a disabled model has no route by its id, bare name or name at the provider', async t => {
  const index = indexOf(['a/x', 'a/y'], {}, { 'a/x': { status: 'disabled', model: 'x-2024' } })
  t.same(['a/x', 'x', 'a/x-2024'].flatMap(id => resolved(index, id)), [])
  t.equal(index.routeTo('a', 'x'), undefined)
  t.equal(index.routeTo('a', 'x-2024'), undefined)
  t.ok(index.find('a/x'), 'it is known all the same')
  t.same(index.listed.map(({ id }) => id), ['a/y'])
})

t.test('snapshots and other letter case are variants of a model, no way around a disabled one', async t => {
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

t.test('a name that a server may trim or normalise is not a model name', async t => {
  const index = indexOf(['a/x'])
  for (const name of [' x', 'x ', 'x\n', 'x\0', '\u00a0x', 'x\u200b', '\ufeffx', 'x\ud800']) {
    t.same(index.resolve(`a/${name}`), [], JSON.stringify(name))
    t.same(index.routeTo('a', name), undefined)
  }
  t.same(resolved(index, 'a/my model'), ['a/my model'])
})

t.test('model names, bare names, aliases and routes refer to models', async t => {
  const index = indexOf(['a/x', 'a/o/p', 'c/z'], {
    models: [modelSettings('alias', { alias: 'a/x' })],
    routes: [{ name: 'route', models: ['c/z'] }]
  })
  t.same([...index.names()].toSorted(), ['a/o/p', 'a/x', 'alias', 'x'])
  t.same([...index.idsByName], [['x', ['a/x']]])
})

t.test('a hidden model answers but is not listed, and the list is ordered by id', async t => {
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

t.test('a wildcard of an alias is what the one in its name matched', async t => {
  const models = [
    modelSettings('claude-*', { alias: 'a/claude-*' }),
    modelSettings('eu/*/fast-*', { alias: 'b/*:*' }),
    modelSettings('own-*', { alias: 'claude-*' }),
    modelSettings('private-*', { alias: 'off/*' }),
    modelSettings('*', { alias: 'b/*' })
  ]
  const index = indexOf(['a/claude-known', 'b/y'], { models })
  const asked = {
    'claude-known': 'a/claude-known',
    'claude-new': 'a/claude-new',
    'own-new': 'a/claude-new',
    'eu/x/fast-1': 'b/x:1',
    y: 'b/y',
    other: 'b/other',
    'b/other': 'b/other'
  }
  for (const [name, id] of Object.entries(asked)) t.same(resolved(index, name), [id], name)
  t.same(resolved(index, 'private-x'), [], 'a provider that is off: no other one gets the call')
  t.notOk([...index.names()].some(name => name.includes('*')))
})

t.test('a bare name is listed if only models of one provider have it, known or not', async t => {
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
  "a route marks prompts if its provider does and the model's minimum for caching is known",
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
