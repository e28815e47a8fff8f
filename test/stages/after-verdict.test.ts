import t from 'tap'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { reportedBy } from '../../lib/core/usage.ts'
import { chain } from '../../lib/pipeline/chain.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { flatMap, type Stage } from '../../lib/pipeline/stage.ts'
import { RefusableAnswer, afterVerdict } from '../../lib/stages/after-verdict.ts'
import { AnswerBatches } from '../../lib/stages/provider-call.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { batchesOf, collect, route, routedCall } from '../support/stages.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { AnswerEvent, ChatEvent } from '../../lib/core/events.ts'
import type { Batch, RoutedCall } from '../../lib/core/call.ts'

t.test('the steps of an answer are its batches, and its end or error', async t => {
  const call = routedCall({})
  for (const error of [undefined, new Error('lost')]) {
    const answer = new RefusableAnswer(call, () => batchesOf(call, [[1], [2]], error))
    t.match(await answer.read(), { batch: { events: [1] } })
    t.match(await answer.read(), { batch: { events: [2] } })
    t.same(await answer.read(), error === undefined ? { batch: undefined } : { batch: undefined, error })
    await answer.close()
  }
})

t.test('the signal of an answer aborts with that of its call, or when the answer is abandoned', async t => {
  for (const isLeft of [true, false]) {
    const caller = new CallCancellation()
    const call = routedCall({}, { signal: caller })
    let reason: unknown
    const answer = new RefusableAnswer<object, number>(call, flatMap(({ signal }) => {
      signal.addEventListener('abort', () => { reason = signal.reason })
      return batchesOf(call, [[1]])
    }))
    await answer.read()
    const why = new GatewayError(isLeft ? 'client_closed_request' : 'content_refused')
    if (isLeft) caller.abort(why)
    else answer.giveUp(why)
    t.equal(reason, why)
    await answer.close()
  }
  const left = new CallCancellation()
  left.abort(new GatewayError('client_closed_request'))
  const call = routedCall({}, { signal: left })
  const seen = new RefusableAnswer<object, boolean>(call, flatMap(given =>
    batchesOf(call, [[given.signal.aborted]])
  ))
  t.match(await seen.read(), { batch: { events: [true] } })
})

t.test('the request of an answer that is being closed ends with its call', async t => {
  const caller = new CallCancellation()
  const call = routedCall({}, { signal: caller })
  const answer = new RefusableAnswer<object, number>(call, flatMap(async function * ({ signal }) {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }))
  const read = answer.read()
  const closed = answer.close()
  await new Promise(setImmediate)
  const timeout = new GatewayError('timeout')
  caller.abort(timeout)
  await closed
  t.same(await read, { batch: undefined, error: timeout })
})

t.test('an answer that is read on without its caller is never read twice at once', async t => {
  const caller = new CallCancellation()
  const call = routedCall({}, { signal: caller })
  const reads = [withResolvers<AnswerEvent[] | undefined>(), withResolvers<AnswerEvent[] | undefined>()]
  let begun = 0
  const attempt = {
    route,
    next: async () => await (reads[begun++]?.promise ?? Promise.resolve(undefined)),
    isFinished: () => false,
    sizeBytes: () => 0,
    reported: () => reportedBy(undefined),
    close: () => undefined
  }
  const answer = new RefusableAnswer<object, AnswerEvent>(call, flatMap(given => new AnswerBatches(given, {
    open: async () =>
      await new AbandonedAnswers().openOutlivingCaller(given, { mayBeAtWork: true }, async () => attempt),
    fail: error => error
  })))
  const first = answer.read()
  reads[0]?.resolve([])
  await first
  const second = answer.read()
  caller.abort(new GatewayError('client_closed_request'))
  answer.giveUp(new GatewayError('content_refused'))
  const closed = answer.close()
  await new Promise(setImmediate)
  t.equal(begun, 2, 'the read in flight is waited for')
  reads[1]?.resolve([{ type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }])
  await Promise.all([second, closed])
  await call.record.end.whenUsageKnown
  t.equal(begun, 3, 'and then it is read to its end')
})

type Asked = Array<RoutedCall<object>>

/** Answers with two batches; records the calls, and those whose answers were abandoned. */
function answering (
  asked: Asked,
  ended: string[],
  end?: Promise<never>
): Stage<RoutedCall<object>, Batch<object, number>> {
  return async function* (source) {
    for await (const call of source) {
      asked.push(call)
      try {
        yield * batchesOf(call, [[1], [2]])
        await end
        ended.push('complete')
      } finally {
        ended.push('end')
      }
    }
  }
}

const refusal = new GatewayError('content_refused')

t.test('an answer begins at once, and continues after the verdict', async t => {
  const asked: Asked = []
  const { promise, resolve } = withResolvers<undefined>()
  const call = routedCall({}, { requestAccepted: promise })
  const out = afterVerdict(answering(asked, []))(once(call))[Symbol.asyncIterator]()
  let isOut = false
  const first = out.next().then(step => { isOut = true; return step })
  await new Promise(setImmediate)
  t.same([asked.length, isOut], [1, false])
  resolve(undefined)
  t.same((await first).value.events, [1])
  t.same((await out.next()).value.events, [2])
  t.equal((await out.next()).done, true)
})

t.test('a refusal ends the answer, whether it has arrived or not', async t => {
  const asked: Asked = []
  const ended: string[] = []
  const call = routedCall({}, { requestAccepted: Promise.reject(refusal) })
  await t.rejects(collect(afterVerdict(answering(asked, ended))(once(call))), { code: 'content_refused' })
  t.same([asked.length, asked[0]?.signal.aborted, ended], [1, true, ['end']])
})

t.test('the usage of an answer that arrived before a refusal is recorded', async t => {
  const { promise, reject } = withResolvers<undefined>()
  const call = routedCall({}, { requestAccepted: promise })
  const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 }
  const complete: Stage<RoutedCall<object>, Batch<object, ChatEvent>> = async function * (source) {
    for await (const call of source) yield * batchesOf(call, [[{ type: 'usage', usage }]])
  }
  const out = collect(afterVerdict(chain(complete, recordUsage<object, ChatEvent>()))(once(call)))
  await new Promise(setImmediate)
  reject(refusal)
  await t.rejects(out, { code: 'content_refused' })
  t.same(call.record.usage.total, usage)
})

t.test('a refusal takes precedence over a failure of the provider, which waits for the verdict', async t => {
  // eslint-disable-next-line
  const failing: Stage<RoutedCall<object>, Batch<object, number>> = async function * () {
    throw new GatewayError('upstream_error')
  }
  for (const [requestAccepted, code] of [
    [Promise.reject(refusal), 'content_refused'],
    [Promise.resolve(), 'upstream_error']
  ] as const) {
    await t.rejects(collect(afterVerdict(failing)(once(routedCall({}, { requestAccepted })))), { code })
  }
})

t.test('the answer ends when its caller disconnects', async t => {
  const asked: Asked = []
  const signal = new CallCancellation()
  const { promise, reject } = withResolvers<undefined>()
  const call = routedCall({}, { requestAccepted: promise, signal })
  const out = collect(afterVerdict(answering(asked, []))(once(call)))
  await new Promise(setImmediate)
  signal.abort(new GatewayError('client_closed_request'))
  reject(signal.reason)
  await t.rejects(out, { code: 'client_closed_request' })
  t.equal(asked[0]?.signal.aborted, true)
})

t.test('a call without a verdict is answered normally', async t => {
  const asked: Asked = []
  const call = routedCall({})
  t.equal((await collect(afterVerdict(answering(asked, []))(once(call)))).length, 2)
  t.equal(asked[0], call)
})
