import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import type { CallSignal } from '../../lib/core/call.ts'
import type { AnswerEvent } from '../../lib/core/events.ts'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { bufferedResponse } from '../../lib/attempts/open-response.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { reportedBy } from '../../lib/core/usage.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream, type Script } from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { route, routedCall } from '../support/stages.ts'
import { settles, until } from '../support/until.ts'
import { answerReply } from '../../lib/replies/answer-reply.ts'
import { chatCompletions } from '../../lib/dialects/chat-completions/index.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { pipeline } from '../../pipelines/pipeline.ts'
import { AnswerBatches, providerCall } from '../../lib/stages/provider-call.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import type { ChatBatch } from '../../lib/dialects/dialect.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Stage } from '../../lib/pipeline/stage.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { ApiKey, PartyLimits } from '../../lib/core/key.ts'
import type { FakeUpstream, SeenRequest } from '../support/upstream.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: 'hi' }
const sent = { mayBeAtWork: true }

async function start (
  t: Test,
  script: (request: SeenRequest) => Script
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  return {
    upstream,
    api: await testGateway(t, {
      providers: [upstreamAt(upstream.url, 'openai', 'openai', { onDisconnect: 'drain' })]
    })
  }
}

/**
 * Lets the provider finish an answer whose caller has left.
 *
 * @returns the usage records once the gateway has closed
 */
async function recordedOf (api: TestGateway, { query }: Database, goOn: () => void): Promise<UsageRow[]> {
  await until(() => api.gateway.services.abandonedAnswers.size === 1, 'one abandoned answer')
  goOn()
  await until(() => api.lines.length === 1, 'the call to be logged')
  await api.gateway.close()
  return await query.selectFrom('usage').selectAll().execute()
}

t.test('an answer abandoned by its caller is read to the end, and the log waits for its usage', async t => {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => { go = resolve })
  const [head = '', first = '', ...rest] = chatFrames(['a', 'b', 'c'])
  const { upstream, api } = await start(t, ({ json }) => ({
    ...Reflect.get(Object(json), 'stream') === true && { headers: eventStream },
    pieces: (async function * () {
      if (Reflect.get(Object(json), 'stream') === true) {
        yield head + first
        await opened
        for (const piece of rest) {
          yield piece
          await new Promise(resolve => { setImmediate(resolve) })
        }
      } else {
        await opened
        yield chatAnswer('complete')
      }
    })()
  }))
  for (const [number, stream] of [true, false].entries()) {
    const leaving = new AbortController()
    const answer = api.post(path, { ...question, stream }, { signal: leaving.signal })
    answer.catch(() => undefined)
    await upstream.request(number)
    if (stream) await (await answer).body?.getReader().read()
    leaving.abort()
  }
  await until(() => api.gateway.services.abandonedAnswers.size === 2, 'two abandoned answers')
  t.equal(api.lines.length, 0)
  go()
  await until(() => api.lines.length === 2, 'two lines in the log')
  for (const line of api.lines) {
    t.match(line, {
      outcome: 'client_closed',
      error: 'client_closed_request',
      level: 'info',
      usage: { prompt: 3, total: Number }
    })
  }
  t.same(new Set(api.lines.map(line => Reflect.get(Object(line['usage']), 'total'))), new Set([4, 6]))
})

const budget = { usd: 1, per: 'day' as const }
const budgets: ReadonlyArray<readonly [string, ApiKey, PartyLimits?]> = [
  ['of the key', { id: 'key-2', name: 'limited', limits: { budget } }],
  ['of keys without limits of their own', { id: 'key-2', name: 'limited' }, { budget }],
  [
    'of the project of the key',
    { id: 'key-2', name: 'limited', project: { id: 'project-1', name: 'team', limits: { budget } } }
  ]
]
for (const [whose, key, defaultKeyLimits] of budgets) {
  t.test(
    `an abandoned answer that counts towards the budget ${whose} is read to its end and charged`,
    async t => {
      const { promise: opened, resolve: go } = withResolvers<void>()
      const [head = '', first = '', ...rest] = chatFrames(['a', 'b', 'c'])
      const upstream = await fakeUpstream({
        headers: eventStream,
        pieces: (async function* () {
          yield head + first
          await opened
          yield* rest
        })()
      })
      t.teardown(upstream.close)
      const database = await openDatabase(t.testdir(), { busyTimeoutMs: 0 })
      t.teardown(database.close)
      const api = await testGateway(
        t,
        {
          providers: [upstreamAt(`${upstream.url}/v1`)],
          models: [modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } })],
          limits: { ...settings().limits, ...defaultKeyLimits !== undefined && { defaultKeyLimits } }
        },
        { limited: key },
        { usageDatabase: database }
      )
      const leaving = new AbortController()
      const answer = await api.post(
        path,
        { ...question, stream: true },
        { signal: leaving.signal, headers: { authorization: 'Bearer limited' } }
      )
      await answer.body?.getReader().read()
      leaving.abort()
      t.match(await recordedOf(api, database, go), [
        {
          outcome: 'client_closed',
          prompt_tokens: 3,
          completion_tokens: 3,
          estimated: 0,
          cost_nano_usd: 33_000
        }
      ])
    }
  )
}

t.test(
  'a silent provider sees that the caller has left, also after the time limit of a budgeted call',
  async t => {
    const [head = '', first = ''] = chatFrames(['a'])
    const { upstream, api } = await start(t, () => ({
      headers: eventStream,
      pieces: [head + first],
      then: 'stall'
    }))
    const { services } = api.gateway
    const unchanged: Stage<ChatBatch> = async function* (source) {
      yield* source
    }
    const handle = pipeline(
      providerCall({ ...services, abandonedAnswers: new AbandonedAnswers({ maxMs: 20 }) }, 'chat'),
      unchanged,
      recordUsage(),
      normalise(),
      unchanged,
      answerReply(chatCompletions)
    )
    const request: ChatInput = {
      model: 'openai/gpt-5',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true
    }
    for (const [number, reservedNanoUsd] of [undefined, 1_000].entries()) {
      const leaving = new AbortController()
      const call = routedCall(request, {
        signal: leaving.signal,
        routes: [{ providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }]
      })
      call.record.cost.reservedNanoUsd = reservedNanoUsd
      const { body } = await handle(call)
      const frames = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
      while (!(await frames.next()).value?.includes('"content":"a"')) {
        /** until the chunk with the text */
      }
      const waiting = frames.next()
      leaving.abort(new GatewayError('client_closed_request'))
      await settles((await upstream.request(number)).aborted, `the provider to see it: ${reservedNanoUsd}`)
      t.same(await waiting, { done: true, value: undefined }, 'nothing is left waiting')
      t.equal(call.record.end.outcome, 'client_closed')
    }
  }
)

t.test(
  'reads of an abandonable answer are passed on as they are, without another promise',
  async t => {
    const read = new Promise<AnswerEvent[] | undefined>(() => undefined)
    const open = {
      route,
      next: () => read,
      isFinished: () => false,
      sizeBytes: () => 7,
      reported: () => reportedBy(undefined),
      close: () => undefined
    }
    const answer = await new AbandonedAnswers().openOutlivingCaller(
      { signal: new AbortController().signal, record: new CallRecord('chat') },
      sent,
      async () => open
    )
    t.equal(answer.next(), read)
    t.equal(answer.sizeBytes(), 7)
  }
)

t.test('an answer that has been read to its end is not aborted when its call ends', async t => {
  for (const [isWhole, givenUp] of [[true, undefined], [false, true]] as const) {
    const caller = new CallCancellation()
    const call = routedCall({}, { signal: caller })
    let signal: CallSignal = caller
    const batches = new AnswerBatches(call, {
      open: async () => await new AbandonedAnswers().openOutlivingCaller(call, sent, async own => {
        signal = own
        const whole = bufferedResponse<AnswerEvent>(route, [])
        return isWhole ? whole : { ...whole, isFinished: () => false }
      }),
      fail: error => error
    })
    await batches.next()
    caller.abort(new GatewayError('content_refused'))
    await batches.return()
    t.equal(call.record.end.isAnswerCutOff, givenUp)
    t.equal(signal.aborted, !isWhole)
  }
})

t.test('closing the gateway aborts abandoned answers', async t => {
  const [head = '', first = ''] = chatFrames(['a'])
  const { upstream, api } = await start(t, () => ({
    headers: eventStream,
    pieces: (async function * () {
      yield head
      for (;;) {
        yield first
        await new Promise(resolve => { setImmediate(resolve) })
      }
    })()
  }))
  const leaving = new AbortController()
  const answer = await api.post(path, { ...question, stream: true }, { signal: leaving.signal })
  await answer.body?.getReader().read()
  leaving.abort()
  const { aborted } = await upstream.request(0)
  await Promise.all([aborted, api.gateway.close()])
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { outcome: 'client_closed', usage: { estimated: true } })
})

interface Reading {
  readonly record: CallRecord
  readonly leave: (reason?: GatewayError) => void
  readonly signal: CallSignal
  readonly close: () => void
}

/** An endless answer of one kilobyte per read, until it is aborted. */
async function endless (abandoned: AbandonedAnswers, keyId?: string): Promise<Reading> {
  const caller = new AbortController()
  const record = new CallRecord('chat')
  record.caller.keyId = keyId
  let inner: CallSignal = caller.signal
  let sizeBytes = 0
  const answer = await abandoned.openOutlivingCaller<AnswerEvent>(
    { signal: caller.signal, record },
    sent,
    async signal => {
      inner = signal
      return {
        route,
        next: async () => {
          await new Promise(resolve => {
            setImmediate(resolve)
          })
          if (signal.aborted) throw signal.reason
          sizeBytes += 1024
          return [
            { type: 'usage', usage: { promptTokens: 1, completionTokens: sizeBytes / 1024, totalTokens: 0 } }
          ]
        },
        isFinished: () => false,
        sizeBytes: () => sizeBytes,
        reported: () => reportedBy(undefined),
        close: () => undefined
      }
    }
  )
  return {
    record,
    signal: inner,
    close: answer.close,
    leave: (reason = new GatewayError('client_closed_request')) => caller.abort(reason)
  }
}

t.test('abandoned answers are limited in bytes, time and number', async t => {
  const small = await endless(new AbandonedAnswers({ bytes: 10_000 }))
  small.leave()
  small.close()
  await small.record.end.whenUsageKnown
  t.equal(small.record.usage.total?.completionTokens, 10, 'the usage of the last read is kept')
  t.equal(small.record.end.isAnswerCutOff, true, 'the provider may still send more')

  const short = await endless(new AbandonedAnswers({ maxMs: 1 }))
  short.leave()
  short.close()
  await short.record.end.whenUsageKnown
  t.ok(short.signal.aborted)
  t.equal(short.record.end.isAnswerCutOff, true)

  const abandoned = new AbandonedAnswers({ answers: 1 })
  const [first, second] = [await endless(abandoned), await endless(abandoned)]
  first.leave()
  second.leave()
  t.notOk(first.signal.aborted)
  t.ok(second.signal.aborted, 'there is no place for it')
  t.same([first.record.end.isAnswerCutOff, second.record.end.isAnswerCutOff], [undefined, true])
  second.close()
  t.equal(second.record.end.whenUsageKnown, undefined)
  first.close()
  abandoned.stop()
  await first.record.end.whenUsageKnown
  t.equal(first.record.end.isAnswerCutOff, true)
})

t.test('abandoned answers of one key take at most half of the places', async t => {
  const abandoned = new AbandonedAnswers({ answers: 4 })
  const keys = ['one', 'one', 'one', 'two']
  const answers = await Promise.all(keys.map(async key => await endless(abandoned, key)))
  for (const { leave } of answers) leave()
  t.same(answers.map(({ signal }) => signal.aborted), [false, false, true, false])
  for (const { close } of answers) close()
  abandoned.stop()
})

t.test('an answer is read on only if its caller has left', async t => {
  const abandoned = new AbandonedAnswers()
  const late = await endless(abandoned)
  late.leave(new GatewayError('timeout'))
  t.match(late.signal.reason, { code: 'timeout' })
  t.equal(late.record.end.isAnswerCutOff, true)
  const there = await endless(abandoned)
  there.close()
  t.equal(there.record.end.whenUsageKnown, undefined, 'closing without an abort reads no further')
  there.leave()
  t.notOk(there.signal.aborted, 'nothing keeps the answer')
  t.equal(there.record.end.isAnswerCutOff, undefined)
})

t.test(
  'closing the gateway aborts and records answers abandoned under an earlier configuration',
  async t => {
    const [head = '', first = ''] = chatFrames(['a'])
    const { upstream, api } = await start(t, () => ({
      headers: eventStream,
      pieces: (async function* () {
        yield head
        for (;;) {
          yield first
          await new Promise(resolve => {
            setImmediate(resolve)
          })
        }
      })()
    }))
    const leaving = new AbortController()
    const answer = await api.post(path, { ...question, stream: true }, { signal: leaving.signal })
    await answer.body?.getReader().read()
    leaving.abort()
    await until(() => api.gateway.services.abandonedAnswers.size === 1, 'one abandoned answer')
    await api.gateway.reload(api.gateway.services.settings)
    const { aborted } = await upstream.request(0)
    await api.gateway.close()
    t.match(
      api.lines,
      [{ outcome: 'client_closed', usage: { estimated: true } }],
      'before everything is closed'
    )
    await aborted
  }
)

t.test('images of an abandoned answer are counted', async t => {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const upstream = await fakeUpstream({
    pieces: (async function* () {
      await opened
      yield JSON.stringify({
        created: 1,
        data: [{ b64_json: 'AA==' }, { b64_json: 'AA==' }],
        quality: 'low',
        size: '1024x1024'
      })
    })()
  })
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir(), { busyTimeoutMs: 0 })
  t.teardown(database.close)
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(upstream.url, 'openai', 'openai', { onDisconnect: 'drain' })],
      models: [
        modelSettings('openai/picture', {
          price: {
            images: [
              { quality: 'high', usd: 0.5 },
              { quality: 'low', usd: 0.1 }
            ]
          }
        })
      ]
    },
    {},
    { usageDatabase: database }
  )
  const leaving = new AbortController()
  const answer = api.post(
    '/v1/images/generations',
    { model: 'openai/picture', prompt: 'x', n: 4 },
    { signal: leaving.signal }
  )
  answer.catch(() => undefined)
  await upstream.request(0)
  leaving.abort()
  t.match(await recordedOf(api, database, go), [
    { outcome: 'client_closed', images: 2, image_quality: 'low', cost_nano_usd: 0.2e9 }
  ])
})
