import { Ajv } from 'ajv'
import t from 'tap'
import { ModelList, type Model } from '../../schemas/models.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Call } from '../../lib/core/call.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { createModels } from '../../lib/models/create-models.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import { jsonReply } from '../../lib/replies/reply-with.ts'
import type { Reply } from '../../lib/core/reply.ts'
import { health, livez, readyz } from '../../pipelines/health.ts'
import { listModels, retrieveModel } from '../../pipelines/models.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'
import { receivedCall } from '../support/stages.ts'

const apiKeys: Record<string, ApiKey> = {
  all: { id: 'all', name: 'all' },
  google: { id: 'google', name: 'google', models: ['google/*'] },
  fast: { id: 'fast', name: 'fast', models: ['fast'] }
}
const keys = { check: (presented: string) => apiKeys[presented] }
const echo: ModelEntry = {
  id: 'sandbox/echo',
  providerId: 'sandbox',
  model: 'echo',
  displayName: 'Echo (simulator)',
  status: 'enabled',
  upstreamApi: 'sandbox',
  capabilities: { text: true }
}
const config = settings({
  providers: [
    providerSettings('mine', 'vllm'),
    providerSettings('eu', 'openai'),
    providerSettings('sandbox', 'sandbox')
  ],
  models: [
    modelSettings('mine/qwen'),
    modelSettings('google/gemini-2.5-pro', { hidden: true }),
    modelSettings('smart', { alias: 'google/gemini-2.5-pro' })
  ],
  routes: [{ name: 'fast', models: ['eu/gpt-5', 'mine/qwen'] }]
})
const services = {
  settings: config,
  keys,
  routingState: new RoutingState(),
  models: createModels(config, new Set(['google', 'mine', 'eu', 'sandbox']), [echo])
}
const list = listModels(services)
const retrieve = retrieveModel(services)

function call (key: string | undefined, params: Record<string, string> = {}): Call {
  return receivedCall({
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    params,
    record: new CallRecord('models')
  })
}

function json ({ body }: Reply): unknown {
  return typeof body === 'string' ? JSON.parse(body) : t.fail('the body is not a text')
}

const isList = new Ajv().compile<ModelList>(ModelList)
const ready = () => true

async function listed (key: string): Promise<Model[]> {
  const value = json(await list(call(key)))
  return isList(value) ? value.data : []
}

t.test('the list of models', async t => {
  t.test('is JSON whose entries have the shape of the wire contract', async t => {
    const reply = await list(call('all'))
    t.match(reply, { status: 200, headers: { 'content-type': /^application\/json/ } })
    t.ok(isList(json(reply)), JSON.stringify(isList.errors))
  })

  t.test('states what is known of a model, and null for the rest', async t => {
    const models = await listed('all')
    t.match(models.find(({ id }) => id === 'google/gemini-2.5-flash'), {
      object: 'model',
      provider: 'google',
      created_at: '2025-06-17T00:00:00Z',
      display_name: 'Gemini 2.5 Flash',
      capabilities: { text: true, image_generation: false, input_token_limit: 1_048_576 },
      pricing: { input: 0.3, output: 2.5, as_of: /^\d{4}-\d\d-\d\d$/ },
      provider_info: { status: 'enabled', upstream_api: 'google/generateContent' }
    })
    t.match(models.find(({ id }) => id === 'mine/qwen'), {
      created_at: '1970-01-01T00:00:00Z',
      display_name: null,
      description: null,
      capabilities: { text: null, vision: null, output_token_limit: null }
    })
  })

  t.test("uses only the wire's provider labels, with the real provider elsewhere", async t => {
    const models = await listed('all')
    const of = (id: string) => models.find(model => model.id === id)
    t.match(of('mine/qwen'), {
      provider: 'openai', provider_info: { provider_id: 'mine', upstream_api: 'openai-compatible' }
    })
    t.match(of('eu/gpt-5'), { provider: 'openai', provider_info: { provider_id: 'eu' } })
    t.match(of('sandbox/echo'), {
      display_name: 'Echo (simulator)',
      provider_info: { provider_id: 'sandbox' }
    })
  })

  t.test('states the release date and owner of a model, as OpenAI does', async t => {
    const models = await listed('all')
    const of = (id: string) => models.find(model => model.id === id)
    t.match(of('google/gemini-2.5-flash'), { created: 1_750_118_400, owned_by: 'google' })
    t.match(of('mine/qwen'), { created: 0, owned_by: 'mine' }, 'no date is invented')
  })

  t.test("has the key's routes and aliases, with what is common to their models", async t => {
    const fast = (await listed('all')).find(({ id }) => id === 'fast')
    t.match(fast, {
      object: 'model',
      owned_by: 'headgate',
      display_name: null,
      capabilities: { text: null, output_token_limit: null }
    })
    const smart = (await listed('all')).find(({ id }) => id === 'smart')
    t.match(smart, {
      owned_by: 'headgate',
      display_name: 'Gemini 2.5 Pro',
      capabilities: { text: true },
      provider_info: { provider_id: 'google' }
    })
    t.same(json(await retrieve(call('all', { model: 'fast' }))), fast)
    t.same(json(await retrieve(call('all', { model: 'smart' }))), smart)
    const ofGoogle = new Set((await listed('google')).map(({ id }) => id))
    t.ok(ofGoogle.has('smart'))
    t.notOk(ofGoogle.has('fast'))
    await t.rejects(retrieve(call('google', { model: 'fast' })), { code: 'model_not_found' })
    t.ok((await listed('fast')).some(({ id }) => id === 'fast'), 'a key that lists the route by its name')
  })

  t.test('has what the key may use', async t => {
    const models = await listed('google')
    t.ok(models.length > 0)
    t.ok(models.every(({ provider }) => provider === 'google'))
  })

  t.test('needs a key', async t => {
    await t.rejects(list(call(undefined)), { status: 401, code: 'invalid_api_key' })
    await t.rejects(retrieve(call('wrong', { model: 'eu/gpt-5' })), { code: 'invalid_api_key' })
  })
})

t.test('one model', async t => {
  t.test('is returned by its id, without a list around it', async t => {
    t.match(json(await retrieve(call('all', { model: 'eu/gpt-5' }))), { id: 'eu/gpt-5', object: 'model' })
  })

  t.test('is found under its other names, hidden or not', async t => {
    t.match(json(await retrieve(call('all', { model: 'gpt-5' }))), { id: 'eu/gpt-5' })
    t.match(json(await retrieve(call('all', { model: 'google/gemini-2.5-pro' }))), {
      id: 'google/gemini-2.5-pro'
    })
  })

  t.test('is a 404 if it is unknown or the key may not use it', async t => {
    const missing = { status: 404, code: 'model_not_found', param: 'model' }
    for (const model of ['openai/gpt-5', 'eu/gpt-5:beta', '', 'missing/x']) {
      await t.rejects(retrieve(call('all', { model })), missing, model)
    }
    await t.rejects(retrieve(call('google', { model: 'eu/gpt-5' })), missing)
    await t.rejects(retrieve(call('all')), missing)
  })
})

t.test('the health check', async t => {
  t.test('needs a key unless configured as public', async t => {
    await t.rejects(health(services, { ready })(call(undefined)), { code: 'invalid_api_key' })
    t.same(json(await health(services, { ready })(call('all'))), { status: 'ok' })
    const open = { ...services, settings: settings({ server: { ...config.server, publicHealth: true } }) }
    t.same(json(await health(open, { ready })(call(undefined))), { status: 'ok' })
  })

  t.test('names failing parts', async t => {
    const reply = await health(services, { ready, degraded: () => ['keys'] })(call('all'))
    t.equal(reply.status, 200)
    t.same(json(reply), { status: 'ok', degraded: ['keys'] })
  })

  t.test('probes need no key, and readiness follows the state of the process', async t => {
    let accepting = false
    const probe = readyz({ ready: () => accepting })
    t.match(await livez()(call(undefined)), { status: 200, body: '{"status":"ok"}' })
    t.match(await probe(call(undefined)), { status: 503, body: '{"status":"unavailable"}' })
    accepting = true
    t.match(await probe(call(undefined)), { status: 200, body: '{"status":"ok"}' })
  })
})

t.test('a pipeline without a value is an internal error', async t => {
  await t.rejects(jsonReply()((async function * () {})()), { code: 'internal_error' })
})
