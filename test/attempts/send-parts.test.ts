import type { ProviderKind } from '../../schemas/providers.ts'
import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { sendParts } from '../../lib/attempts/send-parts.ts'
import type { AnyEvent } from '../../lib/attempts/open-response.ts'
import { modelSettings, provider } from '../support/settings.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { settles, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { WeightedKey } from '../../lib/core/settings.ts'
import type { Adapter, Provider, StreamReader } from '../../lib/providers/provider.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'
const question = { model: 'deepseek/deepseek-chat', messages: 'hi' }

interface Word extends AnyEvent {
  readonly text: string
}

type Answer = (request: SeenRequest, number: number) => Script | Promise<Script>

/** A gateway with a provider that returns one choice per request, and a second provider for fallback. */
async function start (
  t: Test,
  answer: Answer,
  kind: ProviderKind = 'deepseek'
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(answer)
  const other = await fakeUpstream({ pieces: [chatAnswer('other')] })
  t.teardown(upstream.close)
  t.teardown(other.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(upstream.url, 'deepseek', kind), upstreamAt(other.url)]
  })
  return { upstream, api }
}

interface Completion {
  choices: Array<{ index: number, message: { content: string } }>
  usage?: Record<string, number>
}

/** Returns the text of each choice of a stream, by index. */
function textsOf (stream: string): string[] {
  const texts: string[] = []
  for (const line of stream.split('\n')) {
    if (!line.startsWith('data: {')) continue
    // written by the gateway
    const chunk = JSON.parse(line.slice(6)) as {
      choices?: Array<{ index: number, delta: { content?: string } }>
    }
    for (const { index, delta } of chunk.choices ?? []) {
      texts[index] = (texts[index] ?? '') + (delta.content ?? '')
    }
  }
  return texts
}

t.test('a JSON answer has all choices in order and the summed usage', async t => {
  const { upstream, api } = await start(t, (_request, number) => ({
    pieces: [chatAnswer(`answer ${number}`)]
  }))
  const response = await api.post(path, { ...question, n: 20 })
  t.equal(response.status, 200)
  const { choices, usage } = (await response.json()) as Completion
  t.same(
    choices.map(choice => choice.index),
    Array.from({ length: 20 }, (_, index) => index)
  )
  t.equal(new Set(choices.map(choice => choice.message.content)).size, 20, 'each from its own request')
  t.same(usage, { prompt_tokens: 60, completion_tokens: 20, total_tokens: 80 })
  t.equal(upstream.requests.length, 20)
  t.ok(
    upstream.requests.every(({ json }) => !('n' in Object(json))),
    'and none of them sends `n`'
  )
  t.ok(Number(response.headers.get('x-headgate-overhead-ms')) >= 0, 'parallel waits are not added up')
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { outcome: 'ok', attempts: 20, usage: { total: 80 } })
})

t.test('at most eight requests of a call are in flight at once', async t => {
  let open = 0
  let most = 0
  let release = (): void => undefined
  const full = new Promise<void>(resolve => {
    release = resolve
  })
  const { api } = await start(t, async () => {
    most = Math.max(most, ++open)
    if (open === 8) release()
    await full
    open--
    return { pieces: [chatAnswer('x')] }
  })
  t.equal((await api.post(path, { ...question, n: 19 })).status, 200)
  t.equal(most, 8)
})

t.test('streams are merged as they arrive, with one id, a role per choice, and one usage', async t => {
  const { api } = await start(t, (_request, number) => ({
    headers: eventStream,
    pieces: chatFrames([`${number}`, 'b', 'c'])
  }))
  const response = await api.post(path, {
    ...question,
    n: 3,
    stream: true,
    stream_options: { include_usage: true }
  })
  const text = await response.text()
  t.same(
    textsOf(text).map(choice => choice.slice(1)),
    ['bc', 'bc', 'bc']
  )
  t.equal(new Set(text.match(/"id":"[^"]+"/g)).size, 1)
  t.equal(text.match(/"role":"assistant"/g)?.length, 3)
  t.equal(text.match(/"finish_reason":"stop"/g)?.length, 3)
  t.match(
    text,
    /"usage":\{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18\}\}\n\ndata: \[DONE\]\n\n$/
  )
})

t.test('each request has the prices of its own prompt, not those of the sum', async t => {
  const upstream = await fakeUpstream(({ json }) =>
    Reflect.get(Object(json), 'stream') === true
      ? { headers: eventStream, pieces: chatFrames(['a']) }
      : { pieces: [chatAnswer('a')] }
  )
  t.teardown(upstream.close)
  const longPrompt = { abovePromptTokens: 5, input: 6, output: 30 }
  const costs: unknown[] = []
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(upstream.url, 'deepseek', 'deepseek')],
      models: [modelSettings(question.model, { price: { input: 3, output: 15, longPrompt } })]
    },
    {},
    { observers: [(_call, row) => costs.push(row?.cost_nano_usd)] }
  )
  for (const stream of [false, true]) {
    await (await api.post(path, { ...question, n: 2, stream })).text()
  }
  await until(() => costs.length === 2, 'both calls to be recorded')
  t.same(costs, [48_000, 48_000], 'twice 3 tokens for 3 dollars a million and one for 15')
})

t.test('so has each request of an answer that breaks off, fails or is not used', async t => {
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
  const invalid = { pieces: [JSON.stringify({ id: 'x', choices: [], usage })] }
  const frames = chatFrames(['a'])
  const [started = '', text = ''] = frames
  const { promise: reading, resolve: read } = withResolvers<undefined>()
  const upstream = await fakeUpstream(({ json }, number) => {
    const isStream = Reflect.get(Object(json), 'stream') === true
    if (!isStream) return number < 2 ? { pieces: [chatAnswer('a')] } : invalid
    if (number < 6) return { headers: eventStream, pieces: [frames.join('')] }
    const pieces = (async function * () {
      yield started + text
      await reading
    })()
    return { headers: eventStream, pieces, then: 'reset' }
  })
  t.teardown(upstream.close)
  const longPrompt = { abovePromptTokens: 5, input: 6, output: 30 }
  const rows: Array<Record<string, unknown>> = []
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(upstream.url, 'deepseek', 'deepseek', { retries: 0 })],
      models: [modelSettings(question.model, { price: { input: 3, output: 15, longPrompt } })]
    },
    {},
    { observers: [(_call, row) => rows.push({ ...row })] }
  )
  const oneNanoUsd = 3 * 3000 + 15_000
  t.equal((await api.post(path, { ...question, n: 4 })).status, 502)
  await until(() => rows.length === 1, 'the row of the failed call')
  t.match(rows[0], { wasted_tokens: 16, wasted_nano_usd: 4 * oneNanoUsd, cost_nano_usd: 4 * oneNanoUsd })

  const reader = (await api.post(path, { ...question, n: 3, stream: true })).body?.getReader()
  let received = ''
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    received += Buffer.from(next.value).toString()
    if (textsOf(received).join('').length === 3) read(undefined)
  }
  await until(() => rows.length === 2, 'the row of the broken answer')
  const [, { prompt_tokens: promptTokens, cost_nano_usd: cost } = {}] = rows
  const estimatedTokens = Number(promptTokens) - 6
  t.ok(estimatedTokens > 0 && estimatedTokens < 6, 'the prompt of the broken request is estimated')
  t.equal(cost, 2 * oneNanoUsd + 3000 * estimatedTokens)
})

t.test('if one request does not report its usage, no sum is sent', async t => {
  const { api } = await start(t, (_request, number) => ({
    headers: eventStream,
    pieces: chatFrames(['a'], { usage: number !== 1 })
  }))
  const response = await api.post(path, {
    ...question,
    n: 3,
    stream: true,
    stream_options: { include_usage: true }
  })
  t.notMatch(await response.text(), /"usage":\{/)
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { usage: { estimated: true } })
})

t.test('a provider that supports several choices is asked for as many as it supports', async t => {
  const candidates = (count: number): string =>
    JSON.stringify({
      candidates: Array.from({ length: count }, (_, index) => ({
        index,
        content: { role: 'model', parts: [{ text: `t${index}` }] },
        finishReason: 'STOP'
      })),
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: count, totalTokenCount: 1 + count }
    })
  const requested = new Set<unknown>()
  const { api } = await start(
    t,
    ({ json }) => {
      const count: unknown =
        Reflect.get(Object(Reflect.get(Object(json), 'generationConfig')), 'candidateCount') ?? 1
      requested.add(count)
      return { pieces: [candidates(Number(count))] }
    },
    'google'
  )
  const response = await api.post(path, { ...question, model: 'deepseek/gemini-2.5-flash', n: 9 })
  const { choices, usage } = (await response.json()) as Completion
  t.same(requested, new Set([1, 8]))
  t.same(
    choices.map(choice => choice.index),
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
  )
  t.match(usage, { prompt_tokens: 2, completion_tokens: 9 })
})

t.test('a request that returns fewer choices than requested leaves no gap in the indexes', async t => {
  const short = (count: number): string =>
    JSON.stringify({
      candidates: Array.from({ length: Math.max(1, count - 1) }, (_, index) => ({
        index: index + 1,
        content: { parts: [{ text: 't' }] },
        finishReason: 'STOP'
      }))
    })
  const { api } = await start(
    t,
    ({ json, path }) => {
      const body = short(
        Number(Reflect.get(Object(Reflect.get(Object(json), 'generationConfig')), 'candidateCount') ?? 1)
      )
      return path.includes('stream')
        ? { headers: eventStream, pieces: [`data: ${body}\n\n`] }
        : { pieces: [body] }
    },
    'google'
  )
  const requested = { ...question, model: 'deepseek/gemini-2.5-flash', n: 9 }
  const { choices } = (await (await api.post(path, requested)).json()) as Completion
  t.same(
    choices.map(choice => choice.index),
    [0, 1, 2, 3, 4, 5, 6, 7]
  )
  const stream = await (await api.post(path, { ...requested, stream: true })).text()
  t.same(
    textsOf(stream),
    Array.from({ length: 8 }, () => 't')
  )
  t.match(stream, /data: \[DONE\]\n\n$/)
})

t.test(
  'a failure before the first byte cancels the others and gives an error, or falls back',
  async t => {
    for (const stream of [false, true]) {
      const { upstream, api } = await start(t, async (_request, number) => {
        if (number !== 1) return { silent: true }
        await upstream.request(2)
        return { status: 500, pieces: ['{"error":{"message":"no"}}'] }
      })
      const failed = await api.post(path, { ...question, n: 3, stream })
      t.equal(failed.status, 502)
      for (const number of [0, 2]) {
        await settles((await upstream.request(number)).aborted, 'the others to be cancelled')
      }
    }
    const { api } = await start(t, () => ({ status: 500 }))
    const rescued = await api.post(path, { messages: 'hi', model: [question.model, 'openai/gpt-5'], n: 3 })
    t.equal(rescued.status, 200)
    t.match(await rescued.json(), { model: 'openai/gpt-5' })
  }
)

t.test('a failure after the first byte ends the stream with an error, and cancels the others', async t => {
  const [head = '', first = ''] = chatFrames(['a'])
  const { upstream, api } = await start(t, async (_request, number) => {
    if (number === 0) return { headers: eventStream, pieces: [head + first], then: 'stall' }
    const read = (async function* () {
      yield head + first
      await reading
    })()
    return { headers: eventStream, pieces: read, then: 'reset' }
  })
  let read = (): void => undefined
  const reading = new Promise<void>(resolve => {
    read = resolve
  })
  const reader = (await api.post(path, { ...question, n: 2, stream: true })).body?.getReader()
  let text = ''
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += Buffer.from(next.value).toString()
    if (textsOf(text).join('') === 'aa') read()
  }
  t.match(text, /event: error\n.*upstream_stream_interrupted/)
  t.notMatch(text, 'DONE')
  await (
    await upstream.request(0)
  ).aborted
})

t.test('events that arrived before a failure are still sent', async t => {
  let cancelled = 0
  const bodies = ['a', 'b', 'c'].map(
    () =>
      new BodyQueue({
        pause: () => undefined,
        resume: () => undefined,
        cancel: () => {
          cancelled++
        }
      })
  )
  const [first, second, third] = bodies as [BodyQueue, BodyQueue, BodyQueue] // three, as above
  const waiting = bodies.values()
  const scripted: Provider = {
    ...provider('x'),
    transport: {
      send: async () =>
        await Promise.resolve({ status: 200, headers: {}, body: waiting.next().value ?? first })
    }
  }
  const words: StreamReader<Word> = {
    isDone: false,
    read: ({ data }, into) => {
      into.push({ type: 'text-delta', choice: 0, text: data })
    },
    end: () => undefined
  }
  const adapter: Adapter<object, Word> = {
    request: () => ({ method: 'POST', path: '/', headers: {} }),
    read: () => ({ as: 'events', reader: words, json: () => [] }),
    error: ({ status }) => ({ kind: 'error', status })
  }
  const part = {
    input: {
      request: {},
      route: { providerId: 'x', model: 'm', modelId: 'x/m' },
      quirks: {},
      streamed: true
    }
  }
  const key = { id: 'key-1', name: 'key-1', scopes: [] } as never // only its id is read
  const call = { id: 'call', record: new CallRecord('test'), key }
  const context = { signal: new AbortController().signal, call }
  const opened = sendParts(context, [part, part, part], {
    provider: scripted,
    adapter,
    bounds: { answerBytes: 1000, eventBytes: 1000 }
  })
  first.push(Buffer.from('data: a\n\n'))
  second.push(Buffer.from('data: b\n\n'))
  const joined = await opened
  await until(() => joined.sizeBytes() === 18, 'both texts')
  third.fail(new GatewayError('upstream_stream_interrupted'))
  await until(() => cancelled === 2, 'the failure to cancel the others')
  const texts: string[] = []
  await t.rejects(
    async () => {
      for (let events = await joined.next(); events !== undefined; events = await joined.next()) {
        texts.push(...events.map(({ text }) => text))
      }
    },
    { code: 'upstream_stream_interrupted' }
  )
  t.strictSame(texts, ['a', 'b'])
})

t.test('a client disconnect cancels every request', async t => {
  const [head = '', first = ''] = chatFrames(['a'])
  const { upstream, api } = await start(t, ({ json }) =>
    Reflect.get(Object(json), 'stream') === true
      ? { headers: eventStream, pieces: [head + first], then: 'stall' }
      : { silent: true }
  )
  for (const [before, stream] of [
    [0, false],
    [5, true]
  ] as const) {
    const leaving = new AbortController()
    const answer = api.post(path, { ...question, n: 5, stream }, { signal: leaving.signal })
    answer.catch(() => undefined)
    await upstream.request(before + 4)
    if (stream) await (await answer).body?.getReader().read()
    leaving.abort()
    for (const { aborted } of upstream.requests.slice(before)) await aborted
  }
  await until(() => api.lines.length === 2, 'two lines in the log')
  t.ok(api.lines.every(line => line['outcome'] === 'client_closed'))
})

t.test('usage of each part is counted when another part fails after the first byte', async t => {
  const { promise: reading, resolve: read } = withResolvers<undefined>()
  const { api } = await start(t, (_request, number) => {
    if (number === 0) return { headers: eventStream, pieces: [chatFrames(['a', 'b', 'c']).join('')] }
    const pieces = (async function * () {
      yield chatFrames(['d'])[1] ?? ''
      await reading
    })()
    return { headers: eventStream, pieces, then: 'reset' }
  })
  const reader = (await api.post(path, { ...question, n: 2, stream: true })).body?.getReader()
  let text = ''
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += Buffer.from(next.value).toString()
    if (textsOf(text).join('').length === 4) read(undefined)
  }
  t.match(text, /event: error/)
  await until(() => api.lines.length === 1, 'one line in the log')
  const usage = api.lines[0]?.['usage']
  t.match(usage, { completion: 3, estimated: true }, 'of the finished part: more than an estimate')
  t.ok(Number(Reflect.get(Object(usage), 'prompt')) > 3, 'its prompt, plus an estimate for the other part')
})

t.test('usage of failed parts and of finished parts is recorded as wasted', async t => {
  const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }
  const records: CallRecord[] = []
  const upstream = await fakeUpstream((_request, number) => ({
    pieces: [number === 0 ? chatAnswer('a') : JSON.stringify({ id: 'x', choices: [], usage })]
  }))
  const other = await fakeUpstream({ pieces: [chatAnswer('other')] })
  t.teardown(upstream.close)
  t.teardown(other.close)
  const providers = [upstreamAt(upstream.url, 'deepseek', 'deepseek', { retries: 0 }), upstreamAt(other.url)]
  const api = await testGateway(t, { providers }, {}, { observers: [({ record }) => records.push(record)] })
  const response = await api.post(path, { messages: 'hi', model: [question.model, 'openai/gpt-5'], n: 3 })
  t.match(await response.json(), { model: 'openai/gpt-5' })
  await until(() => records.length === 1, 'the record of the call')
  const wasted = records[0]?.usage.wasted?.map(one => one.usage?.totalTokens)
  t.same(wasted?.toSorted(), [4, 9, 9], 'each request for itself')
})

t.test('a part that was answered is not sent again with another key of the provider', async t => {
  const records: CallRecord[] = []
  const keys: Array<string | undefined> = []
  const upstream = await fakeUpstream(({ headers: { authorization } }, number) => {
    keys.push(authorization)
    return number === 1
      ? { status: 429, pieces: ['{"error":{"message":"slow down"}}'] }
      : { pieces: [chatAnswer(`part ${number}`)] }
  })
  t.teardown(upstream.close)
  const apiKeys = ['one', 'two'].map((key): WeightedKey => ({ key: new Secret(key), weight: 1 }))
  const providers = [upstreamAt(upstream.url, 'deepseek', 'deepseek', { apiKeys })]
  const api = await testGateway(t, { providers }, {}, { observers: [({ record }) => records.push(record)] })
  const response = await api.post(path, { ...question, n: 3 })
  const { choices, usage } = await response.json() as Completion
  t.same(choices.map(({ message }) => message.content).toSorted(), ['part 0', 'part 2', 'part 3'])
  t.equal(usage?.['total_tokens'], 3 * 4)
  t.equal(keys.length, 4, 'only the refused part is sent again')
  t.equal(new Set(keys).size, 2)
  await until(() => records.length === 1, 'the record of the call')
  t.equal(records[0]?.usage.wasted, undefined)
})
