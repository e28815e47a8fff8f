/** Streams that are slower than the `slow_stream` setting of their provider allows. */

import t, { type Test } from 'tap'
import { chatFrames, eventStream, fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings } from '../support/settings.ts'
import { outlast, until } from '../support/until.ts'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { printFamilies } from '../../lib/telemetry/metric-families.ts'
import type { SlowStreamSettings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'
const [head = '', ...words] = chatFrames(['one', 'two', 'three'])
const fine: Script = { headers: eventStream, pieces: chatFrames(['other']) }
const stalling = (...pieces: string[]): Script => ({ headers: eventStream, pieces, then: 'stall' })

interface Pair {
  readonly api: TestGateway
  readonly metrics: Metrics
  readonly one: FakeUpstream
  readonly two: FakeUpstream
  readonly ask: (
    model?: string | string[],
    headers?: Record<string, string>
  ) => Promise<{ status: number, route: string | null, text: string }>
}

async function start (
  t: Test,
  slowStream: SlowStreamSettings,
  first: Script | (() => Script),
  { usd, second = fine }: { usd?: number, second?: Script } = {}
): Promise<Pair> {
  const one = await fakeUpstream(first)
  const two = await fakeUpstream(second)
  t.teardown(one.close)
  t.teardown(two.close)
  const metrics: Metrics = new Metrics(() => api.gateway)
  const limiter = new LocalLimiter()
  const api: TestGateway = await testGateway(
    t,
    {
      providers: [
        upstreamAt(`${one.url}/v1`, 'one', 'openai-compatible', { slowStream }),
        upstreamAt(`${two.url}/v1`, 'two', 'openai-compatible')
      ],
      models: [
        modelSettings('one/m', { price: { input: 1, output: 100 } }),
        modelSettings('two/m', { price: { input: 1, output: 1 } })
      ]
    },
    {
      limited: {
        id: 'key-2',
        name: 'limited',
        limits: { budget: { usd: usd ?? 1, per: 'day' }, strict: false }
      }
    },
    { observers: [metrics.observe], limiter }
  )
  return {
    api,
    metrics,
    one,
    two,
    ask: async (model = ['one/m', 'two/m'], headers = {}) => {
      const response = await api.post(path, { messages: 'hi', model, stream: true }, { headers })
      return {
        status: response.status,
        route: response.headers.get('x-headgate-route'),
        text: await response.text()
      }
    }
  }
}

t.test(
  'a stream without output in time is replaced by the next model before the caller sees any of it',
  async t => {
    const { api, metrics, one, ask } = await start(t, { firstOutputMs: 30, windowMs: 1000 }, stalling(head))
    const { status, route, text } = await ask()
    t.equal(status, 200)
    t.equal(route, 'one/m: upstream_too_slow; two/m: next_choice')
    t.match(text, /other[^]*\[DONE\]/)
    await (
      await one.request(0)
    ).aborted
    await until(() => api.lines.length === 1, 'a line')
    t.match(api.lines[0], {
      outcome: 'ok',
      model: 'two/m',
      attempts: 2,
      failed_attempts: ['one/m: upstream_too_slow']
    })
    t.match(
      printFamilies(metrics.families()),
      /headgate_failed_attempts_total\{model="one\/m",provider="one",reason="upstream_too_slow"\} 1/
    )
  }
)

t.test(
  'a stream that pauses after its first output ends with an error, and its request is aborted',
  async t => {
    const { api, metrics, one, two, ask } = await start(
      t,
      { pauseMs: 30, windowMs: 1000 },
      stalling([head, ...words.slice(0, 2)].join(''))
    )
    const { status, text } = await ask()
    t.equal(status, 200)
    t.match(text, /one[^]*two[^]*event: error\ndata: .*"code":"upstream_too_slow"/)
    t.notMatch(text, 'DONE')
    await (
      await one.request(0)
    ).aborted
    t.equal(two.requests.length, 0, 'the caller has already received a part')
    await until(() => api.lines.length === 1, 'a line')
    t.match(api.lines[0], {
      outcome: 'error',
      error: 'upstream_too_slow',
      model: 'one/m',
      failed_attempts: ['one/m: upstream_too_slow']
    })
    t.match(printFamilies(metrics.families()), /reason="upstream_too_slow"\} 1/)
  }
)

t.test('a stream with too few events ends with an error after what has arrived', async t => {
  const seldom = (): Script => ({ headers: eventStream, pieces: (async function * () {
    yield head
    for (let number = 0; ; number++) {
      yield words[number % 3] ?? ''
      await outlast(15) // one event per window, where a hundred are required
    }
  })() })
  const { one, ask } = await start(t, { eventsPerSecond: 1000, windowMs: 100 }, seldom)
  t.match((await ask()).text, /one[^]*event: error\ndata: .*"code":"upstream_too_slow"/)
  await (await one.request(0)).aborted
})

t.test('a fast enough stream continues, however slowly its caller reads', async t => {
  const { api, ask } = await start(
    t,
    { firstOutputMs: 5000, pauseMs: 5000, eventsPerSecond: 0.1, windowMs: 50 },
    { headers: eventStream, pieces: [head, ...words] }
  )
  t.match(await ask(), { route: 'one/m: first_choice', text: /three[^]*\[DONE\]/ })
  const response = await api.post(path, { messages: 'hi', model: 'one/m', stream: true })
  await outlast(50)
  t.match(await response.text(), /three[^]*\[DONE\]/)
})

t.test('at most one stream in twenty is replaced', async t => {
  let finish = (): void => undefined
  const finished = new Promise<void>(resolve => {
    finish = resolve
  })
  const { two, ask } = await start(t, { firstOutputMs: 20, windowMs: 1000 }, () => ({
    headers: eventStream,
    pieces: (async function* () {
      yield head
      await finished
      yield* words
    })()
  }))
  t.match(await ask(), { route: /^one\/m: upstream_too_slow; / })
  const others = [ask(), ask(), ask()]
  await outlast(20)
  finish()
  for (const { text } of await Promise.all(others)) t.match(text, /three/)
  t.equal(two.requests.length, 1)
})

t.test('without another model, a stream without output is waited for', async t => {
  let finish = (): void => undefined
  const finished = new Promise<void>(resolve => {
    finish = resolve
  })
  const { one, ask } = await start(
    t,
    { firstOutputMs: 10, windowMs: 1000 },
    {
      headers: eventStream,
      pieces: (async function* () {
        yield head
        await finished
        yield* words
      })()
    }
  )
  const answer = ask('one/m')
  await one.request(0)
  await outlast(10)
  finish()
  t.match(await answer, { status: 200, text: /three[^]*\[DONE\]/ })
})

t.test('the last model that is left is waited for', async t => {
  let finish = (): void => undefined
  const finished = new Promise<void>(resolve => {
    finish = resolve
  })
  const { one, ask } = await start(
    t,
    { firstOutputMs: 10, windowMs: 1000 },
    {
      headers: eventStream,
      pieces: (async function* () {
        yield head
        await finished
        yield* words
      })()
    },
    { second: { status: 401, pieces: ['{}'] } }
  )
  const answer = ask(['two/m', 'one/m'])
  await one.request(0)
  await outlast(10)
  finish()
  t.match(await answer, { status: 200, text: /three[^]*\[DONE\]/ })
})

t.test('an abandoned stream is charged as an estimate, in addition to the one that succeeded', async t => {
  const { api, ask } = await start(t, { firstOutputMs: 20, windowMs: 1000 }, stalling(head))
  t.match(await ask(['one/m', 'two/m'], { authorization: 'Bearer limited' }), { status: 200, text: /other/ })
  await until(() => api.lines.length === 1, 'a line')
  const { usage } = api.lines[0] as { usage: Record<string, number> }
  t.match(usage, { completion: 1001, estimated: true })
})
