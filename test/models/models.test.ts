import t from 'tap'
import { readCatalogue, catalogue } from '../../lib/models/catalogue.ts'
import { bareEntry } from '../../lib/models/known-models.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { listModels, startDiscovery } from '../../lib/models/discovery.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Provider, UpstreamResponse, UpstreamRequest } from '../../lib/providers/provider.ts'
import { modelSettings, provider, providerSettings, settings } from '../support/settings.ts'

const openai = new Set(['openai'])
const ids = (routes: ReadonlyArray<{ modelId: string }>) => routes.map(route => route.modelId)

t.test('the catalogue', async t => {
  t.test('knows the models of the wire contract', async t => {
    const known = new Set(catalogue.map(({ id }) => id))
    for (const id of [
      'openai/dall-e-2', 'openai/dall-e-3', 'openai/gpt-image-1', 'openai/text-embedding-ada-002',
      'openai/text-embedding-3-small', 'openai/text-embedding-3-large', 'google/text-embedding-004',
      'mistral/mistral-ocr-latest', 'openai/gpt-4o-transcribe', 'openai/gpt-4o-mini-transcribe',
      'openai/whisper-1', 'openai/tts-1', 'openai/tts-1-hd', 'openai/gpt-4o-mini-tts',
      'openai/gpt-5', 'openai/gpt-5-nano', 'anthropic/claude-3-5-sonnet'
    ]) t.ok(known.has(id), id)
  })

  t.test('has models of every provider label', async t => {
    t.same([...new Set(catalogue.map(({ providerId }) => providerId))].toSorted(),
      ['anthropic', 'deepseek', 'fireworks', 'google', 'groq', 'mistral', 'openai', 'xai'])
  })

  const good = {
    id: 'openai/x', display_name: 'X', description: 'X.', status: 'enabled', upstream_api: 'y', can: ['text']
  }

  t.test('refuses a bad price with its position', async t => {
    const bad = { ...good, id: 'openai/z', price: { input: -1, source: 'a page', as_of: '2026-01-01' } }
    t.throws(() => readCatalogue({ families: [], models: [good, bad] }),
      { message: /\/models\/1\/price\/input \(openai\/z\) must be >= 0/ })
  })

  t.test('refuses a price without its date or source, unknown fields and repeated ids', async t => {
    t.throws(() => readCatalogue({ families: [], models: [{ ...good, price: { input: 1, source: 'a page' } }] }), /as_of/)
    t.throws(() => readCatalogue({ families: [], models: [{ ...good, price: { input: 1, as_of: '2026-01-01' } }] }), /source/)
    t.throws(() => readCatalogue({ families: [], models: [{ ...good, prize: 1 }] }), /additional properties/)
    t.throws(() => readCatalogue({ families: [], models: [good, good] }), /\/models\/1 repeats openai\/x/)
    t.throws(() => readCatalogue([]), /the file/)
  })

  t.test('has a day for every model', async t => {
    t.same(catalogue.filter(({ createdAt }) => createdAt === undefined).map(({ id }) => id), [])
  })

  t.test('leaves out what is not known', async t => {
    const [entry] = readCatalogue({ families: [], models: [good] }).models
    t.notOk(entry !== undefined && ('price' in entry || 'createdAt' in entry))
    t.equal(entry?.capabilities.vision, false)
    t.notOk(entry !== undefined && 'input_token_limit' in entry.capabilities)
  })
})

t.test('routes', async t => {
  t.test('a known model leads to its name at the provider', async t => {
    const models = createModels(settings(), new Set(['anthropic']))
    t.match(models.routes('anthropic/claude-3-5-sonnet'), [{
      providerId: 'anthropic', model: 'claude-3-5-sonnet-20241022', modelId: 'anthropic/claude-3-5-sonnet'
    }])
  })

  t.test('an unknown model goes to the provider its prefix names, prefix stripped once', async t => {
    const models = createModels(settings(), new Set(['openrouter']))
    t.same(models.routes('openrouter/anthropic/claude-x:beta'), [{
      providerId: 'openrouter',
      model: 'anthropic/claude-x:beta',
      modelId: 'openrouter/anthropic/claude-x:beta'
    }])
  })

  t.test('models of providers that are not enabled have none', async t => {
    const models = createModels(settings(), openai)
    for (const id of ['google/gemini-2.5-pro', 'google/else', 'nobody/x', 'openai/', '/x', '', 'openai']) {
      t.same(models.routes(id), [], id)
    }
  })

  t.test('a name without prefix means the model of one enabled provider, of several of a kind the first', async t => {
    const twice = settings({ providers: [providerSettings('backup', 'openai')] })
    t.same(ids(createModels(settings(), openai).routes('text-embedding-ada-002')),
      ['openai/text-embedding-ada-002'])
    t.same(createModels(settings(), new Set(['google'])).routes('text-embedding-ada-002'), [])
    t.same(ids(createModels(twice, new Set(['openai', 'backup'])).routes('gpt-5')), ['openai/gpt-5'])
    t.same(ids(createModels(twice, new Set(['backup'])).routes('gpt-5')), ['backup/gpt-5'])
  })

  t.test('a name that servers of different kinds have needs its prefix', async t => {
    const both = createModels(settings({ providers: [providerSettings('a', 'vllm'), providerSettings('b', 'ollama')] }), new Set(['a', 'b']))
    both.setDiscovered('a', [bareEntry('a', 'llama', 'vllm')])
    t.same(ids(both.routes('llama')), ['a/llama'])
    both.setDiscovered('b', [bareEntry('b', 'llama', 'ollama')])
    t.same(both.routes('llama'), [])
  })

  t.test('a snapshot has the price, the abilities and the status of its model', async t => {
    const models = createModels(settings({ models: [modelSettings('openai/gpt-4.1', { status: 'disabled' })] }), openai)
    t.match(models.find('openai/gpt-4o-2024-08-06'), {
      ...models.find('openai/gpt-4o'), id: 'openai/gpt-4o-2024-08-06', model: 'gpt-4o-2024-08-06', createdAt: '2024-08-06T00:00:00Z'
    })
    t.ok(models.find('openai/gpt-4o-2024-08-06')?.price)
    t.same(ids(models.routes('openai/gpt-4o-2024-08-06')), ['openai/gpt-4o-2024-08-06'])
    t.equal(models.find('openai/gpt-4o-2024-13-06'), undefined, 'no day of any calendar')
    for (const id of ['openai/gpt-4.1', 'openai/gpt-4.1-2025-04-14', 'openai/gpt-4.1-20250414', 'openai/gpt-4.1-latest']) {
      t.same(models.routes(id), [], id)
      t.equal(models.routeTo('openai', id), undefined, id)
    }
    const chosen = createModels(settings({
      models: [modelSettings('openai/gpt-4.1', { status: 'disabled' }), modelSettings('openai/gpt-4.1-2025-04-14', { status: 'enabled' })]
    }), openai)
    t.same(ids(chosen.routes('openai/gpt-4.1-2025-04-14')), ['openai/gpt-4.1-2025-04-14'])
    t.same(chosen.find('openai/gpt-4.1-2025-04-14')?.price, chosen.find('openai/gpt-4.1')?.price)
  })

  t.test('a route carries what its model accepts: by family, by catalogue, by the operator', async t => {
    const models = createModels(settings({
      providers: [providerSettings('gpu', 'vllm'), providerSettings('claude', 'anthropic')],
      models: [
        modelSettings('gpu/bge', { traits: { embeddings: { dimensions: 1024, tokensPerInput: 512, tokensPerRequest: 8192 } } }),
        modelSettings('claude/claude-opus-5', { traits: { sampling: true } }),
        modelSettings('openai/dall-e-2', { traits: { images: { maxImages: 3 } } })
      ]
    }), new Set(['gpu', 'claude', 'openai']))
    const traits = (id: string) => models.routes(id)[0]?.traits
    t.same(traits('gpu/bge'), { embeddings: { dimensions: 1024, tokensPerInput: 512, tokensPerRequest: 8192 } })
    t.match(traits('claude/claude-opus-5'), { sampling: true, forcedTools: true, thinking: ['budget', 'adaptive'] })
    t.match(traits('claude/claude-opus-5-20260724'), { sampling: true }, 'a snapshot of it')
    t.match(traits('claude/claude-opus-5-5'), { sampling: false, forcedTools: false })
    t.match(traits('claude/claude-later'), { sampling: false, forcedTools: true })
    t.equal(traits('gpu/claude-later'), undefined, 'families of a kind are of that kind only')
    t.match(traits('gpu/whisper-large-v3'), { transcription: { translation: true } })
    t.match(traits('openai/dall-e-2'), { images: { maxImages: 3, promptCharacters: 1000 } })
  })

  t.test('half a character makes no name', async t => {
    const models = createModels(settings(), new Set(['google']))
    t.same(models.routes('google/\ud800'), [])
    t.equal(models.routeTo('google', 'x\udc00'), undefined)
    t.same(ids(models.routes('google/\u{1f600}')), ['google/\u{1f600}'])
  })

  t.test('a name with a slash of its own needs its prefix', async t => {
    const models = createModels(settings(), new Set(['groq']))
    t.same(models.routes('openai/gpt-oss-120b'), [])
    t.same(ids(models.routes('groq/openai/gpt-oss-120b')), ['groq/openai/gpt-oss-120b'])
  })

  t.test('preview and deprecated models work, disabled ones do not, under no name', async t => {
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

  t.test('a configured route gives its models in order, each once, without those not enabled', async t => {
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
    t.same(ids(models.routes('tail')), ['openai/o3'], 'what leads back to itself leads nowhere')
  })

  t.test('a route to a provider that is not enabled can be had by naming it', async t => {
    const models = createModels(settings(), openai)
    t.match(models.routeTo('anthropic', 'anthropic/claude-3-5-sonnet'), { model: 'claude-3-5-sonnet-20241022' })
    t.match(models.routeTo('anthropic', 'claude-new'), { model: 'claude-new', modelId: 'anthropic/claude-new' })
  })
})

t.test('the list', async t => {
  t.test('holds the models of enabled providers by id, without hidden and disabled ones', async t => {
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

  t.test('a model of a provider that does not exist is refused', async t => {
    t.throws(() => createModels(settings({ models: [modelSettings('nobody/x')] }), openai), /"nobody\/x"/)
    t.throws(() => createModels(settings({ models: [modelSettings('x')] }), openai), /"x"/)
  })

  t.test('a catalogue model is known under the name the operator gave its provider', async t => {
    const models = createModels(settings({ providers: [providerSettings('eu', 'openai')] }), new Set(['eu']))
    t.match(models.find('eu/gpt-5'), { providerId: 'eu', model: 'gpt-5', displayName: 'GPT-5' })
    t.same(models.routes('openai/gpt-5'), [])
  })

  t.test('what a provider brings along is listed', async t => {
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

t.test('a name that is not known has a suggestion when one is near', async t => {
  const models = createModels(settings({ routes: [{ name: 'fast', models: ['openai/gpt-5'] }] }),
    new Set(['openai', 'anthropic']))
  t.equal(models.suggest('openai/gpt-5-nanno'), 'openai/gpt-5-nano')
  t.equal(models.suggest('google/gpt-5'), 'openai/gpt-5')
  t.equal(models.suggest('fasd'), 'fast')
  t.equal(models.suggest('something else altogether'), undefined)
})

/** A provider that answers every request with this body. */
function listing (id: string, body: unknown, status = 200): { provider: Provider, sent: UpstreamRequest[] } {
  const sent: UpstreamRequest[] = []
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const answer: UpstreamResponse = {
    status,
    headers: {},
    body: {
      async * [Symbol.asyncIterator] () { yield bytes },
      buffer: async () => bytes,
      cancel: () => {}
    }
  }
  const send = async (request: UpstreamRequest): Promise<UpstreamResponse> => {
    sent.push(request)
    return answer
  }
  return { sent, provider: { ...provider(id), transport: { send } } }
}

t.test('lists of providers', async t => {
  const { signal } = new AbortController()

  t.test('are read in each dialect', async t => {
    const local = listing('local', {
      data: [{ id: 'a/b', created: 1_700_000_000 }, { id: 'c', created: 0 }, { id: 7 }, null]
    })
    const known = {
      providerId: 'local', status: 'enabled', upstreamApi: 'openai-compatible', capabilities: {}
    }
    t.same(await listModels(local.provider, 'vllm', signal), [
      { ...known, id: 'local/a/b', model: 'a/b', createdAt: '2023-11-14T22:13:20.000Z' },
      { ...known, id: 'local/c', model: 'c' }
    ])
    t.equal(local.sent[0]?.path, '/models')

    const claude = listing('anthropic', {
      data: [{ id: 'claude-x', display_name: 'Claude X', created_at: '2026-01-02T00:00:00Z' }]
    })
    t.match(await listModels(claude.provider, 'anthropic', signal), [{
      id: 'anthropic/claude-x',
      displayName: 'Claude X',
      createdAt: '2026-01-02T00:00:00.000Z',
      upstreamApi: 'anthropic/messages'
    }])

    const gemini = listing('google', {
      models: [{ name: 'models/gemini-x', displayName: 'Gemini X', inputTokenLimit: 5 }]
    })
    t.match(await listModels(gemini.provider, 'google', signal), [{
      id: 'google/gemini-x',
      model: 'gemini-x',
      displayName: 'Gemini X',
      capabilities: { input_token_limit: 5 }
    }])
  })

  t.test('join the catalogue without changing what it says', async t => {
    const models = createModels(settings(), openai)
    const { provider } = listing('openai', { data: [{ id: 'gpt-5', created: 5 }, { id: 'gpt-new', created: 5 }] })
    const stop = new AbortController()
    await startDiscovery([{ provider, kind: 'openai' }], models,
      { signal: stop.signal, onFailure: (_, error) => { t.error(error) } })
    stop.abort()
    t.equal(models.find('openai/gpt-5')?.displayName, 'GPT-5')
    t.ok(models.list().some(({ id }) => id === 'openai/gpt-new'))
    t.same(ids(models.routes('gpt-new')), ['openai/gpt-new'])
  })

  t.test('that cannot be read leave the old one in use', async t => {
    const models = createModels(settings({ providers: [providerSettings('mine', 'vllm')] }), new Set(['mine']))
    models.setDiscovered('mine', await listModels(listing('mine', { data: [{ id: 'a' }] }).provider, 'vllm', signal))
    const failures: string[] = []
    for (const { provider } of [
      listing('mine', '<html>'), listing('mine', { data: 'no' }), listing('mine', { data: [] }, 500)
    ]) {
      const stop = new AbortController()
      await startDiscovery([{ provider, kind: 'vllm' }], models,
        { signal: stop.signal, onFailure: id => { failures.push(id) } })
      stop.abort()
    }
    t.same(failures, ['mine', 'mine', 'mine'])
    t.same(models.list().map(({ id }) => id), ['mine/a'])
  })

  t.test('are bounded in number', async t => {
    const data = Array.from({ length: 6_000 }, (_, index) => ({ id: `m${index}` }))
    t.equal((await listModels(listing('mine', { data }).provider, 'vllm', signal)).length, 5_000)
  })
})
