import t from 'tap'
import { property } from '../../lib/json/type-guards.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { listModels, startDiscovery } from '../../lib/models/discovery.ts'
import { ModelListFailure } from '../../lib/models/model-list-failure.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { Provider, UpstreamResponse, UpstreamRequest } from '../../lib/providers/provider.ts'
import { provider, providerSettings, settings } from '../support/settings.ts'
import { ticksDuring } from '../support/ticks-during.ts'

const openai = new Set(['openai'])
const ids = (routes: ReadonlyArray<{ modelId: string }>) => routes.map(route => route.modelId)

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

  t.test('extend the catalogue without changing it', async t => {
    const models = createModels(settings(), openai)
    const { provider } = listing('openai', {
      data: [
        { id: 'gpt-5', created: 5 },
        { id: 'gpt-new', created: 5 }
      ]
    })
    const stop = new AbortController()
    await startDiscovery([{ provider, kind: 'openai' }], models,
      { signal: stop.signal, onFailure: (_, error) => { t.error(error) } })
    stop.abort()
    t.equal(models.find('openai/gpt-5')?.displayName, 'GPT-5')
    t.ok(models.list().some(({ id }) => id === 'openai/gpt-new'))
    t.same(ids(models.routes('gpt-new')), ['openai/gpt-new'])
  })

  t.test('leave the old list in use if they are unreadable', async t => {
    const models = createModels(
      settings({ providers: [providerSettings('mine', 'vllm')] }),
      new Set(['mine'])
    )
    models.setDiscovered(
      'mine',
      await listModels(listing('mine', { data: [{ id: 'a' }] }).provider, 'vllm', signal)
    )
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

  t.test('give an explainable reason if they are unreadable', async t => {
    const reasonOf = async (body: unknown, status = 200, kind: ProviderKind = 'vllm'): Promise<unknown> => {
      try {
        return await listModels(listing('mine', body, status).provider, kind, signal)
      } catch (error) {
        return error instanceof ModelListFailure ? error.reason : error
      }
    }
    t.equal(await reasonOf({}, 401), 'credential')
    t.equal(await reasonOf({}, 403), 'credential')
    t.equal(
      await reasonOf(
        { error: { code: 400, message: 'API key not valid. Please pass a valid API key.' } },
        400,
        'google'
      ),
      'credential'
    )
    t.equal(await reasonOf({ error: 'Incorrect API key provided' }, 400, 'xai'), 'credential')
    t.equal(await reasonOf({ error: 'bad page size' }, 400), 'status')
    t.equal(await reasonOf('<html>', 301), 'redirect')
    t.equal(await reasonOf('', 304), 'status')
    t.equal(await reasonOf('<html>'), 'not_json')
    t.equal(await reasonOf({ data: 'no' }), 'no_list')
  })

  t.test('are limited in length', async t => {
    const data = Array.from({ length: 6_000 }, (_, index) => ({ id: `m${index}` }))
    t.equal((await listModels(listing('mine', { data }).provider, 'vllm', signal)).length, 5_000)
  })

  t.test('delay nothing, however many values they have', async t => {
    const data = Array.from({ length: 5_000 }, (_, index) => ({ id: `m${index}`, text: 'x'.repeat(200) }))
    const { provider } = listing('mine', { data })
    let found: readonly unknown[] = []
    const turns = await ticksDuring(async () => { found = await listModels(provider, 'vllm', signal) })
    t.equal(found.length, 5_000)
    t.ok(turns > 3, `${turns} turns`)
    const reasonOf = async (provider: Provider): Promise<unknown> =>
      await listModels(provider, 'vllm', signal).catch((error: unknown) => property(error, 'reason'))
    const hostile = listing('mine', `{"data":[${'{},'.repeat(1_000_000)}{}]}`)
    t.equal(await reasonOf(hostile.provider), 'too_many_values')
    const deep = listing('mine', `{"data":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`)
    t.equal(await reasonOf(deep.provider), 'not_json')
  })
})
