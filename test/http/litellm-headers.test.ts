import t from 'tap'
import { addLitellmHeaders } from '../../lib/http/litellm-headers.ts'
import { receivedCall } from '../support/stages.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

t.test("when enabled, answers carry LiteLLM's headers too; streams omit the cost", async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('there')] })
  t.teardown(upstream.close)
  const providers = [
    upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { quirks: { responsesApi: false } })
  ]
  const { server } = settings()
  const on = await testGateway(t, { providers, server: { ...server, litellmHeaders: true } })
  const off = await testGateway(t, { providers })
  const body = { model: 'gpt-4o', messages: 'hi' }
  const { headers } = await on.post('/v1/chat/completions', body)
  t.equal(headers.get('x-litellm-call-id'), headers.get('x-request-id'))
  t.equal(headers.get('x-litellm-model-id'), 'openai/gpt-4o')
  t.equal(headers.get('x-litellm-model-group'), 'gpt-4o')
  t.equal(headers.get('x-litellm-response-cost'), headers.get('x-headgate-cost-usd'))
  t.ok(Number(headers.get('x-litellm-response-cost')) > 0)
  t.ok(
    Number(headers.get('x-litellm-response-duration-ms')) >=
      Number(headers.get('x-litellm-overhead-duration-ms'))
  )
  const refused = await on.post('/v1/chat/completions', { ...body, model: 'none/at-all' })
  t.ok(refused.headers.get('x-litellm-call-id'))
  t.equal(refused.headers.get('x-litellm-response-cost'), null)
  t.same(
    [...(await off.post('/v1/chat/completions', body)).headers.keys()].filter(name =>
      name.includes('litellm')
    ),
    []
  )
})

t.test('characters that a header cannot carry are removed from names', async t => {
  const call = receivedCall({})
  call.record.request.requestedModel = 'modèle\n'
  const headers: Record<string, string> = { 'x-headgate-model': 'openai/x' }
  addLitellmHeaders(headers, call)
  t.match(headers, { 'x-litellm-model-group': 'mod?le?', 'x-litellm-overhead-duration-ms': '0' })
})
