/** Limits the requests to providers that one call may make, and checks what they count towards. */

import t from 'tap'
import { chatAnswer, fakeUpstream, type Script } from '../support/upstream.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import type { PartyLimits } from '../../lib/core/key.ts'

const path = '/v1/chat/completions'
const limited = (limits: PartyLimits) => ({ limited: { id: 'key-2', name: 'limited', limits } })
const asLimited = { headers: { authorization: 'Bearer limited' } }

t.test('a list of more than 16 models is refused before any is called, on every endpoint', async t => {
  const upstream = await fakeUpstream({ status: 404, pieces: ['{}'] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`)] })
  const model = Array.from({ length: 17 }, (_, index) => `openai/m-${index}`)
  for (const [endpoint, body] of [
    [path, { messages: 'hi' }], ['/v1/audio/speech', { input: 'hi', voice: 'alloy' }]
  ] as const) {
    const response = await api.post(endpoint, { ...body, model })
    t.equal(response.status, 422, endpoint)
    t.match(await response.json(), { detail: [{ loc: ['body', 'model'] }] }, endpoint)
  }
  t.equal(upstream.requests.length, 0)
  await api.post(path, { messages: 'hi', model: model.slice(0, 16) })
  t.equal(upstream.requests.length, 16, 'each is called once')
})

t.test('every attempt of a call counts towards the requests per minute of its key', async t => {
  let script: Script = { status: 404, pieces: ['{}'] }
  const upstream = await fakeUpstream(() => script)
  t.teardown(upstream.close)
  const api = await testGateway(
    t,
    { providers: [upstreamAt(`${upstream.url}/v1`)] },
    limited({ requestsPerMinute: 10 })
  )
  const ask = async (count: number): Promise<string | null> => {
    const model = Array.from({ length: count }, (_, index) => `openai/m-${index}`)
    const response = await api.post(path, { messages: 'hi', model }, asLimited)
    await response.text()
    return response.headers.get('x-ratelimit-remaining-requests')
  }
  t.equal(await ask(4), '9', 'one is reserved')
  script = { pieces: [chatAnswer('hello')] }
  t.equal(await ask(1), '5', 'the others are charged at the end')
})

t.test('choices that are requested one by one are counted one by one', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('hello')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { quirks: { multipleChoices: false } })]
  }, limited({ requestsPerMinute: 10 }))
  const ask = async (n: number): Promise<Response> => {
    const response = await api.post(path, { messages: 'hi', model: 'openai/gpt-5', n }, asLimited)
    await response.text()
    return response
  }
  t.equal((await ask(12)).status, 200)
  t.equal(upstream.requests.length, 12)
  const refused = await ask(1)
  t.equal(refused.status, 429)
  t.equal(upstream.requests.length, 12)
})
