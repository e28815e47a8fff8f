import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { fakeUpstream } from '../support/upstream.ts'

const question = { model: 'openai/gpt-5', messages: 'hi' }

t.test('a billed response that cannot be read is not requested again', async t => {
  for (const text of ['half a {', '{"neither":"choices"}', '{"choices":[]}']) {
    const upstream = await fakeUpstream({ pieces: [text] })
    t.teardown(upstream.close)
    const api = await testGateway(t, { providers: [{ ...upstreamAt(upstream.url), retries: 2 }] })
    const response = await api.post('/v1/chat/completions', question)
    t.equal(response.status, 502, text)
    t.equal(upstream.requests.length, 1, text)
  }
  const busy = await fakeUpstream({ pieces: ['{"error":{"message":"busy","code":503}}'] })
  t.teardown(busy.close)
  const api = await testGateway(t, { providers: [{ ...upstreamAt(busy.url), retries: 2 }] })
  t.equal((await api.post('/v1/chat/completions', question)).status, 503)
  t.ok(busy.requests.length > 1, 'a response that is an error is retried')
})
