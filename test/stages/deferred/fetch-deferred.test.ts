import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { defaultProject } from '../../../lib/core/key.ts'
import { chain } from '../../../lib/pipeline/chain.ts'
import { once } from '../../../lib/pipeline/sources.ts'
import { fetchDeferred } from '../../../lib/stages/deferred/fetch-deferred.ts'
import { openDeferred } from '../../../lib/stages/deferred/open-deferred.ts'
import { normalise } from '../../../lib/stages/normalise.ts'
import { recordUsage } from '../../../lib/stages/record-usage.ts'
import { endUserDigest } from '../../../lib/stores/end-user-digests.ts'
import { callFor, deferredId, deferredServices, upstreamResponse } from '../../support/deferred.ts'
import { collect } from '../../support/stages.ts'
import { chatAnswer } from '../../support/upstream.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { AuthedCall } from '../../../lib/core/call.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { UpstreamResponse } from '../../../lib/providers/provider.ts'

/** Fetches one completion twice. */
async function fetchTwice (
  t: Test,
  ...responses: ReadonlyArray<UpstreamResponse | Error>
): Promise<{ call: AuthedCall, answers: unknown[] }> {
  const queue = [...responses]
  const services = await deferredServices(t, async () => {
    const response = queue.shift() ?? new Error('not requested again')
    return response instanceof Error ? await Promise.reject(response) : response
  })
  const stages = chain(
    openDeferred(services),
    fetchDeferred(services, chain(recordUsage<ChatInput, ChatEvent>(), normalise()))
  )
  const call = callFor(deferredId(services))
  const ask = async (): Promise<unknown> =>
    await collect(stages(once(call))).then(
      ([answer]) => answer,
      (error: unknown) => error
    )
  return { call, answers: [await ask(), await ask()] }
}

t.test('a completion is fetched once, goes through the stages of every answer, and is stored', async t => {
  const { call, answers: [first, second] } = await fetchTwice(t, upstreamResponse(200, chatAnswer('later')))
  t.match(first, { status: 200, body: /"model":"one\/m".*"content":"later"/ })
  t.match(second, { reply: { status: 200, body: Reflect.get(Object(first), 'body') } })
  t.match(call.record, { usage: { total: { totalTokens: 4 } }, routing: { providerId: 'one' } })
})

t.test('a 202 of the provider is a 202 of the gateway, and the fetch is repeated', async t => {
  const { answers } = await fetchTwice(t, upstreamResponse(202), upstreamResponse(200, chatAnswer('later')))
  t.match(answers, [{ reply: { status: 202 } }, { status: 200 }])
})

t.test('a fetch that does not reach the provider leaves the completion to the next one', async t => {
  const unreachable = new GatewayError('upstream_unreachable')
  const { answers } = await fetchTwice(t, unreachable, upstreamResponse(200, chatAnswer('later')))
  t.match(answers, [{ code: 'upstream_unreachable' }, { status: 200, body: /later/ }])
})

t.test('a completion that is not ready after a failed fetch is pending', async t => {
  const { answers } = await fetchTwice(t, new GatewayError('upstream_unreachable'), upstreamResponse(202))
  t.match(answers, [{ code: 'upstream_unreachable' }, { reply: { status: 202 } }])
})

t.test('an unreadable answer is a permanent error', async t => {
  const { answers } = await fetchTwice(t, upstreamResponse(200, 'no JSON'))
  t.match(answers, [
    { status: 502, body: /upstream_invalid_response/ },
    { reply: { status: 502, headers: { 'x-should-retry': 'false' } } }
  ])
})

t.test('a completion too large for the store is returned once', async t => {
  const { answers } = await fetchTwice(t, upstreamResponse(200, chatAnswer('x'.repeat(7 * 1024 * 1024))))
  t.match(answers, [
    { status: 200, body: /xxx/ },
    { reply: { status: 413, body: /file_too_large/, headers: { 'x-should-retry': 'false' } } }
  ])
})

t.test('the end user of a completion is hashed once if names have been stored as digests since', async t => {
  const digest = endUserDigest(randomBytes(32))(defaultProject, 'ada')
  for (const [kept, endUser] of [
    [{ endUser: 'ada', hashed: false }, 'digest of ada'],
    [{ endUser: digest, hashed: false }, `digest of ${digest}`],
    [{ endUser: digest, hashed: true }, digest],
    // from the previous version
    [{ endUser: 'ada' }, 'digest of ada'],
    [{ endUser: digest }, digest]
  ] as const) {
    const services = await deferredServices(t, async () => await Promise.resolve(upstreamResponse(202)))
    const call = callFor(deferredId(services, kept))
    call.record.caller.digestEndUser = name => `digest of ${name}`
    const stages = chain(
      openDeferred(services),
      fetchDeferred(services, chain(recordUsage<ChatInput, ChatEvent>(), normalise()))
    )
    t.match(await collect(stages(once(call))).catch((reply: unknown) => reply), { reply: { status: 202 } })
    t.equal(call.record.caller.endUser, endUser)
  }
})
