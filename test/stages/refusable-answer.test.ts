import t from 'tap'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { AnswerBatches } from '../../lib/attempts/answer-batches.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { reportedBy } from '../../lib/core/usage.ts'
import { flatMap } from '../../lib/pipeline/stage.ts'
import { RefusableAnswer } from '../../lib/stages/refusable-answer.ts'
import { batchesOf, route, routedCall } from '../support/stages.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { AnswerEvent } from '../../lib/core/events.ts'

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
    open: async () => await new AbandonedAnswers().openOutlivingCaller(given, async () => attempt),
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
