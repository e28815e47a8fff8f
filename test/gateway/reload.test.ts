import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { createGateway } from '../../lib/gateway.ts'
import { createLog } from '../../lib/log/log.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { chatUpstreamAt, testGateway, testKey, upstreamAt } from '../support/gateway.ts'
import { raw, rest } from '../support/raw.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'
import { storeTest } from '../support/stores.ts'
import { eventually, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream, type Script } from '../support/upstream.ts'
import type { LimitSettings, ProviderSettings } from '../../lib/core/settings.ts'

const sandbox = {
  ...providerSettings('sandbox', 'sandbox'),
  baseUrl: 'sandbox:',
  options: { words_per_second: 0 }
}
const request = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
}
const livez = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'

t.test('request limits apply from the next call after a reload', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const apply = async (limits: Partial<LimitSettings>): Promise<void> => {
    const { settings } = api.gateway.services
    await api.gateway.reload({ ...settings, limits: { ...settings.limits, ...limits } })
  }
  const post = async (): Promise<readonly [status: number, message: unknown]> => {
    const response = await api.post('/v1/chat/completions', request)
    const { error } = await response.json() as { readonly error?: { readonly message: string } }
    return [response.status, error?.message]
  }
  t.same(await post(), [200, undefined])

  await apply({ jsonDepth: 2 })
  t.same(await post(), [400, 'The body is nested deeper than 2 levels.'])
  await apply({ jsonDepth: 100, bodyMemoryBytes: 20 })
  t.same(await post(), [413, 'The body needs more memory than one API key may use.'])
  await apply({ bodyMemoryBytes: 1_000_000 })
  t.same(await post(), [200, undefined])

  await apply({ pipelinedRequests: 1 })
  const pipelined = await raw(t, api.url)
  pipelined.write(livez.repeat(20))
  t.match(await rest(pipelined), /Too many pipelined requests on this connection \(limit 1\)/)
  await apply({ headersMs: 50 })
  const slow = await raw(t, api.url)
  slow.write('GET /livez HTTP/1.1\r\n')
  t.match(await rest(slow), /^HTTP\/1\.1 408 /)
})

t.test('settings that need a restart keep their values, and every path leads to its endpoint', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const { settings } = api.gateway.services
  const { server, store } = settings
  const statuses = async (): Promise<number[]> =>
    await Promise.all(['/health', '/readyz', '/v1/models', '/models', '/v1/responses/x'].map(async path =>
      (await api.get(path)).status))
  const before = await statuses()
  await api.gateway.reload({
    ...settings,
    server: { ...server, aliases: !server.aliases, port: 1, dataDir: 'elsewhere', publicUrl: 'http://new' },
    store: { ...store, url: new Secret('sqlite:elsewhere') }
  })
  const after = api.gateway.services.settings
  t.same(after.server, { ...server, publicUrl: 'http://new' })
  t.same(after.store, store)
  t.same(await statuses(), before)
})

t.test('without a store, the spending of an end user still counts after a reload', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const defaultBudget = { usd: 0.000_026, per: 'month' } as const // two calls
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`)],
    models: [modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } })],
    endUsers: { store: 'as_given', required: false, defaultBudget, strict: false }
  })
  const statusOf = async (user: string): Promise<number> => {
    const messages = [{ role: 'user', content: 'hi' }]
    const body = { model: 'openai/gpt-5', messages, max_completion_tokens: 1, user }
    return (await api.post('/v1/chat/completions', body)).status
  }
  t.same([await statusOf('ada'), await statusOf('ada'), await statusOf('ada')], [200, 200, 402])
  await api.gateway.reload(api.gateway.services.settings)
  t.same([await statusOf('ada'), await statusOf('bob')], [402, 200])
})

const question = { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'hi' }] }

/** The script of a stream of 'one ', then 'two ' once it is released. */
function heldStream (released: Promise<void>): Script {
  return {
    headers: eventStream,
    pieces: (async function * () {
      const frames = chatFrames(['one ', 'two '])
      yield frames.slice(0, 2).join('')
      await released
      yield frames.slice(2).join('')
    })()
  }
}

t.test('an open call keeps its price when the configuration changes', async t => {
  const hold = withResolvers<void>()
  const upstream = await fakeUpstream(() => heldStream(hold.promise))
  t.teardown(upstream.close)
  const costs: unknown[] = []
  const api = await testGateway(
    t,
    {
      providers: [chatUpstreamAt(`${upstream.url}/v1`)],
      models: [modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } })]
    },
    { budgeted: { id: 'key-2', name: 'b', limits: { budget: { usd: 1, per: 'month' } } } },
    { observers: [(_, row) => costs.push(row?.cost_nano_usd)] }
  )
  const response = await api.post(
    '/v1/chat/completions',
    { ...question, stream: true },
    { headers: { authorization: 'Bearer budgeted' } }
  )
  await api.gateway.reload({ ...api.gateway.services.settings, models: [] })
  hold.resolve()
  await response.text()
  await until(() => costs.length === 1, 'the row')
  t.same(costs, [3 * 1000 + 2 * 10_000])
})

t.test('an open call is mirrored when the configuration changes', async t => {
  const hold = withResolvers<void>()
  const upstream = await fakeUpstream(({ json }) =>
    Reflect.get(Object(json), 'model') === 'shadow'
      ? { pieces: [chatAnswer('x')] }
      : heldStream(hold.promise))
  t.teardown(upstream.close)
  const rows: unknown[] = []
  const api = await testGateway(
    t,
    {
      providers: [chatUpstreamAt(`${upstream.url}/v1`)],
      routes: [{
        name: 'shared',
        strategy: 'in_order',
        models: ['openai/gpt-5'],
        mirror: { model: 'openai/shadow', share: 1, maxInFlight: 4 }
      }]
    },
    {},
    { observers: [call => rows.push([call.record.caller.keyId, call.record.end.outcome])] }
  )
  const response = await api.post('/v1/chat/completions', { ...question, model: 'shared', stream: true })
  await api.gateway.reload(api.gateway.services.settings)
  hold.resolve()
  await response.text()
  await until(() => rows.length === 2, 'the mirror')
  t.same(rows, [['key-1', 'ok'], ['mirror', 'ok']])
})

t.test('a guard asks the provider that its configuration has, for calls that are open', async t => {
  const hold = withResolvers<void>()
  const upstream = await fakeUpstream(({ path, json }) => path.includes('moderations')
    ? {
        pieces: [JSON.stringify({
          id: 'm',
          model: 'mod',
          results: [Reflect.get(Object(json), 'input')].flat().map(() => ({
            flagged: false, categories: {}, category_scores: {}
          }))
        })]
      }
    : heldStream(hold.promise))
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      chatUpstreamAt(`${upstream.url}/v1`), upstreamAt(`${upstream.url}/v1`, 'checker', 'openai')
    ],
    guards: [{
      name: 'safe',
      use: 'moderation',
      model: 'checker/mod',
      at: ['answer'],
      window: { characters: 1, overlap: 0, maxWaitMs: 10 }
    }]
  })
  const response = await api.post('/v1/chat/completions', { ...question, stream: true })
  const { settings } = api.gateway.services
  await api.gateway.reload({ ...settings, providers: settings.providers.slice(0, 1), guards: [] })
  hold.resolve()
  const text = await response.text()
  t.match(text, 'two ')
  t.notMatch(text, 'error')
})

/** A guard that counts in `globalThis.openGuards` how often it is open. */
const countedGuard = `globalThis.openGuards = (globalThis.openGuards ?? 0) + 1
export default { request: () => undefined, close: () => { globalThis.openGuards-- } }`

t.test('the services of an earlier configuration are closed before the gateway is', async t => {
  const events: string[] = []
  Reflect.set(globalThis, 'noteClosed', () => events.push('guard'))
  t.teardown(() => Reflect.deleteProperty(globalThis, 'noteClosed'))
  const file = join(t.testdir(), 'slow.mjs')
  await writeFile(file, `import { setTimeout } from 'node:timers/promises'
export default { request: () => undefined, close: async () => { await setTimeout(500); noteClosed() } }`)
  const gateway = await createGateway(
    settings({ guards: [{ name: 'mine', use: file, at: ['request'] }] }),
    { keys: { check: () => undefined }, log: createLog('info', { write: () => undefined }) }
  )
  await gateway.start()
  await gateway.reload(settings())
  await gateway.close()
  t.same(events, ['guard'])
})

storeTest('a background response that begins during a reload keeps its services', async (t, open) => {
  const database = await open()
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [chatUpstreamAt(`${upstream.url}/v1`)] }, {}, { database })
  const body = JSON.stringify({ model: 'openai/gpt-5', input: 'hi', background: true })
  const socket = await raw(t, api.url)
  socket.write([
    'POST /v1/responses HTTP/1.1', 'host: x', `authorization: Bearer ${testKey}`, 'connection: close',
    'content-type: application/json', `content-length: ${body.length}`, '', body.slice(0, 10)
  ].join('\r\n'))
  await until(() => api.gateway.load().openCalls === 1, 'the call')
  await api.gateway.reload(api.gateway.services.settings)
  socket.write(body.slice(10))
  const id = /"id":"(resp_[^"]+)"/.exec(await rest(socket))?.[1]
  const status = async (): Promise<unknown> =>
    Reflect.get(Object(await (await api.get(`/v1/responses/${id}`)).json()), 'status')
  t.equal(
    await eventually(status, now => now === 'completed' || now === 'failed', 'the response'), 'completed'
  )
})

t.test('a configuration that cannot be used leaves nothing open', async t => {
  const directory = t.testdir()
  const files = ['first.mjs', 'second.mjs', 'third.mjs'].map(name => join(directory, name))
  await Promise.all(files.map(async file => await writeFile(file, countedGuard)))
  const openGuards = (): unknown => Reflect.get(globalThis, 'openGuards')
  const guarded = (file = '') => settings({ guards: [{ name: 'mine', use: file, at: ['request'] }] })
  const refuse = (): never => { throw new Error('no endpoints') }
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const log = createLog('info', { write: () => undefined })
  const options = { keys: { check: () => undefined }, log, database, usageDatabase: database }

  await t.rejects(
    createGateway(guarded(files[0]), { ...options, endpoints: refuse }), { message: 'no endpoints' }
  )
  t.equal(openGuards(), 0, 'of a gateway whose endpoints fail')

  const { server, ...others } = guarded(files[1])
  const tls = { certificate: join(directory, 'none.pem'), key: join(directory, 'none.pem') }
  await t.rejects(createGateway({ ...others, server: { ...server, tls } }, options), {
    message: /none\.pem cannot be read/
  })
  t.equal(openGuards(), 0, 'of a gateway whose certificate cannot be read')

  let isUsable = true
  const api = await testGateway(t, {}, {}, { endpoints: () => isUsable ? [] : refuse() })
  isUsable = false
  await t.rejects(api.gateway.reload(guarded(files[2])), { message: 'no endpoints' })
  t.equal(openGuards(), 0, 'of a configuration whose endpoints fail')

  const stubborn = join(directory, 'stubborn.mjs')
  await writeFile(stubborn, `export default {
    request: () => undefined, close: () => { throw new Error('cannot close') }
  }`)
  await t.rejects(
    createGateway(guarded(stubborn), { ...options, endpoints: refuse }),
    { message: 'no endpoints' },
    'the first error, not that of closing'
  )
})

t.test('models that a provider has listed stay known when its list fails after a reload', async t => {
  let isDown = false
  const list = JSON.stringify({ object: 'list', data: [{ id: 'my-model', object: 'model' }] })
  const upstream = await fakeUpstream(({ path }) => {
    if (!path.endsWith('/models')) return { pieces: [chatAnswer('x')] }
    return isDown ? { status: 503, pieces: ['{}'] } : { pieces: [list] }
  })
  t.teardown(upstream.close)
  const provider = (id: string): ProviderSettings =>
    upstreamAt(`${upstream.url}/v1`, id, 'openai-compatible', {
      listModels: true, quirks: { responsesApi: false }
    })
  const api = await testGateway(t, { providers: [provider('mine')] })
  const status = async (): Promise<number> =>
    (await api.post('/v1/chat/completions', { ...question, model: 'my-model' })).status
  t.equal(await status(), 200)
  isDown = true
  const { settings } = api.gateway.services
  await api.gateway.reload(settings)
  t.equal(await status(), 200)
  await api.gateway.reload({ ...settings, providers: [provider('another')] })
  t.equal(await status(), 404, 'another provider has not listed it')
})
