import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { chain } from '../../lib/pipeline/chain.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { afterVerdict } from '../../lib/stages/after-verdict.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Batch, RoutedCall } from '../../lib/core/call.ts'
import type { Stage } from '../../lib/pipeline/stage.ts'

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
  const call = routedCall({}, { requestVerdict: promise })
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
  const call = routedCall({}, { requestVerdict: Promise.reject(refusal) })
  await t.rejects(collect(afterVerdict(answering(asked, ended))(once(call))), { code: 'content_refused' })
  t.same([asked.length, asked[0]?.signal.aborted, ended], [1, true, ['end']])
})

t.test('the usage of an answer that arrived before a refusal is recorded', async t => {
  const { promise, reject } = withResolvers<undefined>()
  const call = routedCall({}, { requestVerdict: promise })
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
  for (const [requestVerdict, code] of [
    [Promise.reject(refusal), 'content_refused'],
    [Promise.resolve(), 'upstream_error']
  ] as const) {
    await t.rejects(collect(afterVerdict(failing)(once(routedCall({}, { requestVerdict })))), { code })
  }
})

t.test('the answer ends when its caller disconnects', async t => {
  const asked: Asked = []
  const signal = new CallCancellation()
  const { promise, reject } = withResolvers<undefined>()
  const call = routedCall({}, { requestVerdict: promise, signal })
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
