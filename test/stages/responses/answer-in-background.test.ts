import t from 'tap'
import { EarlyReply } from '../../../lib/core/reply.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import { once } from '../../../lib/pipeline/sources.ts'
import { textOf } from '../../../lib/public/testing.ts'
import { answerInBackground } from '../../../lib/stages/responses/answer-in-background.ts'
import { responsesCall } from '../../support/responses.ts'
import { collect, route } from '../../support/stages.ts'
import type { BackgroundWork } from '../../../lib/deferred/background-runs.ts'
import type { RoutedChatCall } from '../../../lib/chat/input.ts'
import type { Services } from '../../../lib/services.ts'

const begun: BackgroundWork[] = []
const services = {
  backgroundRuns: {
    begin: async (work: BackgroundWork) => { begun.push(work) },
    stream: async function * () { yield 'event: response.created\n\n' }
  }
} as unknown as Services // nothing else of them is used before the work runs

function call (parts: Parameters<typeof responsesCall>[0]): RoutedChatCall {
  const { background: inBackground = false, ...rest } = parts
  const input = responsesCall(rest)
  const request = { ...input.context.request, background: inBackground }
  return {
    ...input,
    routes: [route],
    context: {
      ...input.context,
      request,
      kept: (response: unknown) => ({ response, input: [], itemIds: [] })
    }
  }
}

const answer = async (): Promise<never> => { throw new Error('the answer did not wait') }

async function ended (given: RoutedChatCall): Promise<EarlyReply> {
  const thrown: unknown = await collect(answerInBackground(services, answer)(once(given))).catch(
    (error: unknown) => error
  )
  if (!(thrown instanceof EarlyReply)) throw new Error('the call went on')
  return thrown
}

t.test('a call whose caller waits passes', async t => {
  const now = call({})
  t.same(await collect(answerInBackground(services, answer)(once(now))), [now])
  const without = call({ background: true })
  t.same(
    await collect(answerInBackground({} as Services, answer)(once(without))),
    [without],
    'and one where nothing runs in the background'
  )
  t.same(begun, [])
})

t.test('the caller gets the queued response, and a later failure is in it', async t => {
  const given = call({ background: true })
  const { reply } = await ended(given)
  const queued = JSON.parse(await textOf(reply)) as { id: string, status: string }
  t.match(queued, { status: 'queued', background: true, model: route.modelId, output: [] })
  t.equal(given.record.request.isDeferred, true)
  const [work] = begun.splice(0)
  t.match(work?.toKeep, { keyId: 'key', response: { id: queued.id } })
  t.same(work?.firstFrames, [])
  t.match(work?.failed(new GatewayError('upstream_timeout')), {
    id: queued.id,
    status: 'failed',
    error: { message: 'The provider did not answer in time.' }
  })
})

t.test('a stream begins with the events that queue it', async t => {
  const { reply } = await ended(call({ background: true, stream: true }))
  t.match(reply.headers, { 'content-type': /event-stream/ })
  t.equal(await textOf(reply), 'event: response.created\n\n')
  const [work] = begun.splice(0)
  t.match(work?.firstFrames, [/^event: response\.created\n/, /^event: response\.queued\n/])
})
