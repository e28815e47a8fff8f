import t from 'tap'
import { AnswerCache } from '../../lib/cache/answer-cache.ts'
import { MemoryEntries } from '../../lib/cache/entries.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { flatMap, type Stage } from '../../lib/pipeline/stage.ts'
import { cachedAnswer } from '../../lib/stages/cached-answer.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Batch, RoutedCall } from '../../lib/core/call.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

type Call = RoutedCall<ChatInput>
type Answer = Stage<Call, Batch<ChatInput, ChatEvent>>

const text = (piece: string): ChatEvent => ({ type: 'text-delta', choice: 0, text: piece })
const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }

function cache (): AnswerCache {
  return new AnswerCache({
    settings: { ttlMs: 60_000, maxBytes: 1024 * 1024, scope: 'key', when: 'always' },
    entries: new MemoryEntries(1024 * 1024), secret: Buffer.alloc(32), configuration: ''
  })
}

function callOf (): Call {
  return routedCall<ChatInput>(
    { model: 'one/m', messages: [], stream: true },
    { record: new CallRecord('chat') }
  )
}

function answering (
  given: ReadonlyArray<readonly ChatEvent[]>,
  failure?: unknown
): { readonly stage: Answer, readonly calls: () => number } {
  let calls = 0
  return {
    stage: flatMap(call => {
      calls++
      return batchesOf(call, given, failure)
    }),
    calls: () => calls
  }
}

/** A caller disconnects after the first batch, while another waits for the same answer. */
async function leaveToAnother (answer: Answer) {
  const cached = cachedAnswer(cache(), answer)
  const call = callOf()
  const reader = cached(once(call))[Symbol.asyncIterator]()
  await reader.next()
  const other = collect(cached(once(callOf())))
  await new Promise(resolve => { setImmediate(resolve) })
  await reader.return?.()
  return { record: call.record, other }
}

t.test('batches pass unchanged, and are replayed as one', async t => {
  const { stage, calls } = answering([[text('a')], [text('b'), end]])
  const cached = cachedAnswer(cache(), stage)
  const [first, again] = [callOf(), callOf()]
  t.same((await collect(cached(once(first)))).map(({ events }) => events), [[text('a')], [text('b'), end]])
  const [only, ...others] = await collect(cached(once(again)))
  t.same([only?.events, others], [[text('a'), text('b'), end], []])
  t.equal(only?.call, again, 'with the call that asks')
  t.same([first.record.routing.cache, again.record.routing.cache, calls()], ['miss', 'hit', 1])
  t.match(again.record, {
    request: { isStreamed: true },
    routing: { modelId: 'one/m', providerId: 'one', requestCount: 0 },
    usage: { total: undefined }
  })
})

t.test('a broken answer is not cached', async t => {
  const { stage, calls } = answering([[text('a')]], new Error('broken'))
  const cached = cachedAnswer(cache(), stage)
  for (const number of [1, 2]) {
    await t.rejects(collect(cached(once(callOf()))), { message: 'broken' })
    t.equal(calls(), number)
  }
})

t.test('an answer that nobody reads to its end is abandoned, and its source closed', async t => {
  let isClosed = false
  const stage: Answer = flatMap(async function * (call) {
    try {
      yield * batchesOf(call, [[text('a')], [text('b'), end]])
    } finally {
      isClosed = true
    }
  })
  const cached = cachedAnswer(cache(), stage)
  const call = callOf()
  for await (const _ of cached(once(call))) break
  t.ok(isClosed)
  t.equal(call.record.end.whenUsageKnown, undefined)
  t.equal((await collect(cached(once(callOf())))).length, 2, 'nothing waits for it')
})

t.test('the request of an answer that is being closed ends with its call', async t => {
  const { promise: ended, resolve } = withResolvers<unknown>()
  const stage: Answer = flatMap(async function * (call) {
    const { signal } = call
    signal.addEventListener('abort', () => resolve(signal.reason))
    try {
      yield * batchesOf(call, [[text('a')], [text('b'), end]])
    } finally {
      await ended
    }
  })
  const caller = new CallCancellation()
  const reader = cachedAnswer(cache(), stage)(once({ ...callOf(), signal: caller }))[Symbol.asyncIterator]()
  await reader.next()
  const closed = reader.return?.()
  await new Promise(setImmediate)
  const timeout = new GatewayError('timeout')
  caller.abort(timeout)
  await closed
  t.equal(await ended, timeout)
})

t.test('an equal call does not wait for a caller who stops reading', async t => {
  const { stage, calls } = answering([[text('a')], [text('b'), end]])
  const cached = cachedAnswer(cache(), stage)
  const call = callOf()
  const slow = cached(once(call))[Symbol.asyncIterator]()
  await slow.next()
  call.record.times.unreadSinceMs = performance.now()
  const other = await collect(cached(once(callOf())))
  t.same(other.map(({ events }) => events), [[text('a')], [text('b'), end]])
  t.equal(calls(), 2)
  await slow.next()
  t.equal((await slow.next()).done, true)
  t.equal((await collect(cached(once(callOf())))).length, 1, 'its answer is cached at its end')
  t.equal(calls(), 2)
})

t.test('it is read to its end while another call waits', async t => {
  const { stage, calls } = answering([[text('a')], [text('b')], [end]])
  const { record, other } = await leaveToAnother(stage)
  t.ok(record.end.whenUsageKnown, 'its row waits for what it used')
  t.same((await other).map(({ events }) => events), [[text('a'), text('b'), end]])
  await record.end.whenUsageKnown
  t.equal(calls(), 1)
})

t.test("a failure after the caller disconnected is recorded without the provider's message", async t => {
  const failure = new GatewayError('upstream_invalid_request', { message: 'no secret here' })
  const { stage } = answering([[text('a')], [text('b')]], failure)
  const { record, other } = await leaveToAnother(stage)
  await t.rejects(other, { code: 'upstream_invalid_request' })
  await record.end.whenUsageKnown
  t.equal(record.end.cause, 'upstream_invalid_request')
})

t.test('its record waits for the usage, even if it is not cached and nobody else waits', async t => {
  const { promise: opened, resolve: open } = withResolvers<undefined>()
  let calls = 0
  const stage: Answer = flatMap(async function * (call) {
    calls++
    yield * batchesOf(call, [[text('a')], [{ type: 'choice-end', choice: 0, reason: 'content_filter' }]])
    await opened
  })
  const { record, other } = await leaveToAnother(stage)
  let isKnown = false
  const known = record.end.whenUsageKnown?.then(() => { isKnown = true })
  await until(() => calls === 2, 'the other call to be answered on its own')
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(isKnown, false)
  open(undefined)
  await Promise.all([other, known])
  t.equal(isKnown, true)
})

t.test('a source that fails to start keeps nobody waiting', async t => {
  const cached = cachedAnswer(cache(), () => { throw new Error('no source') })
  for (const _ of [1, 2]) await t.rejects(collect(cached(once(callOf()))), { message: 'no source' })
})

t.test('answers that are stored for later calls bypass the cache', async t => {
  const { stage, calls } = answering([[end]])
  const cached = cachedAnswer(cache(), stage, { isStored: () => true })
  const call = callOf()
  await collect(cached(once(call)))
  await collect(cached(once(callOf())))
  t.same([call.record.routing.cache, calls()], ['bypass', 2])
})
