/** A route that calls the next model when the first is slow. */

import t, { type Test } from 'tap'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script
} from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { outlast, until } from '../support/until.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'

interface Pair {
  readonly api: TestGateway
  readonly one: FakeUpstream
  readonly two: FakeUpstream
  readonly ask: (
    body?: object,
    headers?: Record<string, string>
  ) => Promise<{ status: number, route: string | null, attempts: string | null, text: string }>
}

async function start (
  t: Test,
  scripts: { one: Script, two: Script },
  parts: Partial<ProviderSettings> = {},
  keys: Record<string, ApiKey> = {},
  hedgeAfterMs = 20
): Promise<Pair> {
  const one = await fakeUpstream(scripts.one)
  const two = await fakeUpstream(scripts.two)
  t.teardown(one.close)
  t.teardown(two.close)
  const api = await testGateway(
    t,
    {
      providers: [
        upstreamAt(`${one.url}/v1`, 'one', 'openai-compatible', parts),
        upstreamAt(`${two.url}/v1`, 'two', 'openai-compatible')
      ],
      routes: [{ name: 'quick', models: ['one/m', 'two/m'], hedgeAfterMs }]
    },
    keys
  )
  return {
    api,
    one,
    two,
    ask: async (body = {}, headers = {}) => {
      const response = await api.post(path, { messages: 'hi', model: 'quick', ...body }, { headers })
      const header = (name: string): string | null => response.headers.get(name)
      return {
        status: response.status,
        route: header('x-headgate-route'),
        attempts: header('x-headgate-attempts'),
        text: await response.text()
      }
    }
  }
}

const silent: Script = { silent: true }
const fine = (text: string): Script => ({ pieces: [chatAnswer(text)] })

for (const [kind, body, answer] of [
  ['complete', {}, fine('two')],
  ['streamed', { stream: true }, { headers: eventStream, pieces: chatFrames(['two']) }]
] as const) {
  t.test(
    `a ${kind} answer comes from the second model when the first is slow, and the first request is aborted`,
    async t => {
      const { api, one, two, ask } = await start(t, { one: silent, two: answer })
      const found = await ask(body)
      t.match(found, { status: 200, route: 'one/m: slower; two/m: next_choice', attempts: '2', text: /two/ })
      await (
        await one.request(0)
      ).aborted
      t.equal(two.requests.length, 1)
      await until(() => api.lines.length === 1, 'a line')
      t.match(api.lines[0], { model: 'two/m', hedges: 1, attempts: 2, failed_attempts: ['one/m: slower'] })
    }
  )
}

t.test('a model that answers in time is the only one called', async t => {
  const { two, ask } = await start(t, { one: fine('one'), two: fine('two') }, {}, {}, 60_000)
  t.match(await ask(), { route: 'one/m: first_choice', attempts: '1' })
  t.equal(two.requests.length, 0)
})

t.test('a late first answer wins if the second request fails, which counts against its model', async t => {
  let release = (): void => {}
  const released = new Promise<void>(resolve => { release = resolve })
  const slow = (async function * () {
    await released
    yield chatAnswer('one')
  })()
  const { api, ask } = await start(t, { one: { pieces: slow }, two: { status: 500, pieces: ['{}'] } })
  const answer = ask()
  await until(
    () => [...api.gateway.services.routingState.circuits()].some(([id]) => id === 'two/m'),
    'the second one has failed'
  )
  release()
  t.match(await answer, {
    status: 200,
    route: 'two/m: upstream_error; one/m: first_choice',
    attempts: '2',
    text: /one/
  })
})

t.test('at most one call in twenty is hedged', async t => {
  const { one, two, ask } = await start(
    t,
    { one: { then: 'stall' }, two: fine('two') },
    {
      timeouts: { connectMs: 1000, firstByteMs: 400, responseMs: 400, idleBytesMs: 400, idleEventsMs: 400 },
      retries: 0
    }
  )
  let hedged = 0
  for (let count = 0; count < 4; count++) {
    const { status, route } = await ask()
    t.equal(status, 200)
    if (route?.includes('one/m: slower') === true) hedged++
  }
  t.equal(hedged, 1, 'only the one allowed from the start')
  t.same([one.requests.length, two.requests.length], [4, 4], 'the others fall back as usual')
})

const project = {
  id: 'project-1',
  name: 'team',
  limits: { budget: { usd: 1, per: 'day' as const, unpriced: 'allow' as const } }
}
const limited = { id: 'key-2', name: 'limited', project }

for (const [why, parts, headers] of [
  ['of its provider', { onDisconnect: 'drain' }, {}],
  ['of a budget', {}, { authorization: 'Bearer limited' }]
] as const) {
  t.test(`where an answer must be read to its end because ${why}, there is no second request`, async t => {
    const slow: Script = { pieces: (async function * () {
      await outlast(20) // the delay before a request is hedged
      yield chatAnswer('one')
    })() }
    const { two, ask } = await start(t, { one: slow, two: fine('two') }, parts, { limited })
    t.match(await ask({}, headers), { status: 200, route: 'one/m: first_choice', text: /one/ })
    t.equal(two.requests.length, 0)
  })
}
