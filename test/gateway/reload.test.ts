import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { raw, rest } from '../support/raw.ts'
import { modelSettings, providerSettings } from '../support/settings.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { Limits } from '../../lib/core/settings.ts'

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
  const apply = async (limits: Partial<Limits>): Promise<void> => {
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
