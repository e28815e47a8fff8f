import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { Secret } from '../../lib/core/secret.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

const path = '/v1/chat/completions'
const other = { headers: { authorization: 'Bearer other' } }
const keys = { other: { id: 'key-2', name: 'other' } }

t.test('a key that floods an unresponsive provider takes nothing from others', async t => {
  const stuck = await fakeUpstream({ silent: true })
  const healthy = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(stuck.close)
  t.teardown(healthy.close)
  const api = await testGateway(
    t,
    {
      providers: [
        upstreamAt(`${stuck.url}/v1`, 'openai', 'openai', { maxConnections: 4, maxWaitingCalls: 8 }),
        upstreamAt(`${healthy.url}/v1`, 'mistral', 'mistral')
      ],
      limits: { ...settings().limits, openCalls: 40, maxSharePerKey: 0.5, callMs: 60_000 }
    },
    keys
  )
  const leaving = new AbortController()
  t.teardown(() => leaving.abort())
  const refused: Response[] = []
  for (let count = 0; count < 60; count++) {
    api.post(path, { model: 'openai/gpt-5', messages: 'hi' }, { signal: leaving.signal }).then(
      response => refused.push(response),
      () => undefined
    )
  }
  await until(() => refused.length === 48, 'all but 12 calls to be refused', 20_000)
  const bodies = await Promise.all(refused.map(async response => await response.text()))
  t.same(new Set(refused.map(({ status }) => status)), new Set([503]))
  t.ok(
    refused.every(
      ({ headers }) =>
        headers.get('retry-after') === '1' && headers.get('x-ratelimit-remaining-requests') === '0'
    )
  )
  t.ok(
    bodies.includes(
      '{"error":{"message":"Too many calls are waiting for this provider. Try again later.","type":"server_error","code":"overloaded","param":null}}'
    )
  )
  t.equal(stuck.requests.length, 4)
  for (let count = 0; count < 5; count++) {
    t.equal(
      (await api.post(path, { model: 'mistral/mistral-large-latest', messages: 'hi' }, other)).status,
      200
    )
  }
  t.equal(
    (await api.post(path, { model: ['openai/gpt-5', 'mistral/mistral-large-latest'], messages: 'hi' }))
      .status,
    200,
    'the next model of a list answers'
  )
  const waiting = api.post(
    path,
    { model: 'openai/gpt-5', messages: 'hi' },
    { ...other, signal: leaving.signal }
  )
  waiting.catch(() => undefined)
  await until(
    () => refused.length === 49,
    'a place in the line for the other key, which the first one loses',
    20_000
  )
})

t.test('a key has its share of open calls, and another key gets the rest', async t => {
  const stuck = await fakeUpstream({ silent: true })
  t.teardown(stuck.close)
  const api = await testGateway(
    t,
    {
      providers: [
        upstreamAt(`${stuck.url}/v1`),
        { ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } }
      ],
      limits: { ...settings().limits, openCalls: 8, maxSharePerKey: 0.5 }
    },
    keys
  )
  const leaving = new AbortController()
  t.teardown(() => leaving.abort())
  for (let count = 0; count < 4; count++) {
    api
      .post(path, { model: 'openai/gpt-5', messages: 'hi' }, { signal: leaving.signal })
      .catch(() => undefined)
  }
  await until(() => stuck.requests.length === 4, 'four calls at the provider')
  const response = await api.post(path, { model: 'sandbox/echo', messages: 'hi' })
  t.equal(response.status, 503)
  t.match(await response.json(), {
    error: { code: 'overloaded', message: /^This API key has reached its share of 4 open calls/ }
  })
  t.equal(response.headers.get('x-ratelimit-limit-requests'), '4')
  t.equal((await api.post(path, { model: 'sandbox/echo', messages: 'hi' }, other)).status, 200)
})

t.test('failures caused by one key do not change the routing of another', async t => {
  const answer = chatAnswer('x')
  const first = await fakeUpstream(({ text }) => {
    if (text.includes('crash')) return { status: 500, pieces: ['{"error":{"message":"oops"}}'] }
    if (text.includes('too large')) {
      return { pieces: [answer.replace('"x"', JSON.stringify('x'.repeat(200_000)))] }
    }
    if (text.includes('cut off')) {
      return {
        headers: { 'content-type': 'text/event-stream' },
        pieces: ['data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'],
        then: 'reset'
      }
    }
    if (text.includes('forbidden')) {
      return {
        status: 403,
        pieces: ['{"error":{"message":"You may not use this file.","type":"permission_error"}}']
      }
    }
    return text.includes('silent') ? { silent: true } : { pieces: [answer] }
  })
  const second = await fakeUpstream({ pieces: [answer] })
  t.teardown(first.close)
  t.teardown(second.close)
  const api = await testGateway(
    t,
    {
      providers: [
        {
          ...upstreamAt(`${first.url}/v1`, 'openai', 'openai', { quirks: { responsesApi: false } }),
          apiKeys: [
            { key: new Secret('one'), weight: 1 },
            { key: new Secret('two'), weight: 1 }
          ]
        },
        upstreamAt(`${second.url}/v1`, 'mistral', 'mistral')
      ],
      limits: { ...settings().limits, answerBytes: 100_000 }
    },
    keys
  )
  const call = async (messages: string, init: RequestInit = {}, more: object = {}): Promise<string> => {
    const response = await api.post(
      path,
      { model: ['openai/gpt-5', 'mistral/mistral-large-latest'], messages, ...more },
      init
    )
    return response.headers.get('x-headgate-route') ?? `${response.status} ${await response.text()}`
  }
  for (const [kind, init, more] of [
    ['crash'],
    ['too large'],
    ['cut off', {}, { stream: true }],
    ['forbidden'],
    ['crash', { headers: { 'x-provider-key': 'sk-own' } }]
  ] as const) {
    for (let count = 0; count < 8; count++) await call(kind, init, more)
    t.match(await call('hi', other), /^openai\/gpt-5: first_choice/, kind)
  }
  for (let count = 0; count < 8; count++) {
    const leaving = new AbortController()
    const sent = first.requests.length
    const gone = api
      .post(path, { model: 'openai/gpt-5', messages: 'silent' }, { signal: leaving.signal })
      .catch(() => undefined)
    await until(() => first.requests.length > sent, 'the call at the provider')
    leaving.abort()
    await gone
  }
  t.match(await call('hi', other), /^openai\/gpt-5: first_choice/, 'aborted calls')
  t.match(await call('hi'), /^openai\/gpt-5: circuit_open; mistral/, 'for that key it is')
  t.match(await (await api.get('/health', other)).json(), { status: 'ok', cooldowns: undefined })
  t.match(await (await api.get('/health')).json(), {
    cooldowns: [{ model: 'openai/gpt-5', reason: 'circuit_open' }]
  })
})
