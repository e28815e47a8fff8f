import t from 'tap'
import { testGateway } from '../support/gateway.ts'
import { raw, rest } from '../support/raw.ts'
import { providerSettings } from '../support/settings.ts'
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

t.test('the limits of requests apply from the next call after a reload', async t => {
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

  await apply({ pipelinedRequests: 1, headersMs: 50 })
  const pipelined = await raw(t, api.url)
  pipelined.write(livez.repeat(20))
  t.match(await rest(pipelined), /Too many pipelined requests on this connection \(limit 1\)/)
  const slow = await raw(t, api.url)
  slow.write('GET /livez HTTP/1.1\r\n')
  t.match(await rest(slow), /^HTTP\/1\.1 408 /)
})
