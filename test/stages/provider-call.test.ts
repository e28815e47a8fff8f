import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { canServe } from '../../lib/routing/can-serve.ts'
import { missingMs, RouteHealth } from '../../lib/routing/route-health.ts'
import { providerCall } from '../../lib/stages/provider-call.ts'
import { providerSettings } from '../support/settings.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import { chatAnswer } from '../support/upstream.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { SendOptions, Transport, UpstreamRequest } from '../../lib/providers/provider.ts'

interface Scripted extends Transport {
  readonly sent: Array<UpstreamRequest & SendOptions>
}

/** Answers with these statuses and bodies, one a request, the last of them for all that follow. */
function scripted (...answers: ReadonlyArray<readonly [status: number, body: string]>): Scripted {
  const sent: Array<UpstreamRequest & SendOptions> = []
  return {
    sent,
    send: async (request, options) => {
      sent.push({ ...request, ...options })
      const [status, body] = answers[Math.min(sent.length, answers.length) - 1] ?? [500, '']
      const bytes = Buffer.from(body)
      return {
        status,
        headers: {},
        body: {
          buffer: async () => bytes,
          cancel: () => undefined,
          async * [Symbol.asyncIterator] () { yield bytes }
        }
      }
    }
  }
}

const other = { providerId: 'two', model: 'm', modelId: 'two/m' }
const limits = { answerBytes: 1e6, eventBytes: 1e6 }
const hello: ChatInput = { model: 'one/m', messages: [{ role: 'user', content: 'hello' }] }
const busy = [503, '{"error":{"message":"busy"}}'] as const
const fine = [200, chatAnswer('fine')] as const

function services (transports: Record<string, Transport>, parts: { retries?: number } = {}) {
  return {
    providers: new Map(
      Object.entries(transports).map(([id, transport]) => [
        id,
        createProvider(
          { ...providerSettings(id, 'openai-compatible'), apiKey: new Secret('sk-ours'), ...parts },
          transport
        )
      ])
    ),
    settings: { limits }
  }
}

t.test('a complete answer is one batch of the route that gave it', async t => {
  const one = scripted(fine)
  const call = routedCall(hello)
  const batches = await collect(providerCall(services({ one }), 'chat')(once(call)))
  t.equal(batches.length, 1)
  t.equal(batches[0]?.route, route)
  t.match(batches[0]?.events, [{ type: 'response-start' }, { type: 'text-delta', text: 'fine' }])
  t.match(call.record, { modelId: 'one/m', providerId: 'one', chosen: route, attempts: 1, streamed: false })
  t.match(one.sent, [{ method: 'POST', credential: { authorization: 'Bearer sk-ours' } }])
})

t.test('the next route is tried when one fails, and the record says why', async t => {
  const [one, two] = [scripted(busy), scripted(fine)]
  const call = routedCall(hello, { routes: [route, other] })
  const [batch] = await collect(providerCall(services({ one, two }), 'chat')(once(call)))
  t.equal(batch?.route, other)
  t.match(call.record, { modelId: 'two/m', attempts: 2, failedAttempts: [{ route }], retries: undefined })
})

t.test('a transient failure is tried again as often as the provider allows', async t => {
  const one = scripted(busy, fine)
  const call = routedCall(hello)
  t.equal((await collect(providerCall(services({ one }, { retries: 1 }), 'chat')(once(call)))).length, 1)
  t.match(call.record, { attempts: 2, retries: 1 })
  t.ok(
    call.record.upstreamWaitMs >= 70,
    `the pause before the retry counts as waiting: ${call.record.upstreamWaitMs} ms`
  )
})

t.test('what the caller did wrong ends the call, as any other provider would say the same', async t => {
  const [one, two] = [scripted([400, '{"error":{"message":"bad"}}']), scripted(fine)]
  await t.rejects(
    collect(
      providerCall(services({ one, two }), 'chat')(once(routedCall(hello, { routes: [route, other] })))
    ),
    { code: 'upstream_invalid_request' }
  )
  t.equal(two.sent.length, 0)
})

t.test('a provider without the capability is never called', async t => {
  const [one, two] = [scripted(fine), scripted(fine)]
  const both = services({ one, two })
  const withoutChat = { ...both, providers: new Map([...both.providers].map(([id, provider]) => [
    id, id === 'one' ? { ...provider, adapters: {} } : provider
  ])) }
  t.same([route, other].filter(canServe(withoutChat.providers, 'chat')), [other])
  const [batch] = await collect(
    providerCall(withoutChat, 'chat')(once(routedCall(hello, { routes: [route, other] })))
  )
  t.equal(batch?.route, other)
  t.equal(one.sent.length, 0)
  await t.rejects(collect(providerCall(withoutChat, 'chat')(once(routedCall(hello)))), {
    code: 'model_not_found'
  })
})

t.test('settings of a route hold where the request says nothing', async t => {
  const one = scripted(fine)
  const settled = { ...route, settings: { temperature: 0.5, top_p: 0.5 } }
  await collect(
    providerCall(services({ one }), 'chat')(once(routedCall({ ...hello, top_p: 1 }, { routes: [settled] })))
  )
  t.match(JSON.parse(String(one.sent[0]?.body)), { temperature: 0.5, top_p: 1 })
  await collect(
    providerCall(
      services({ one }),
      'chat'
    )(
      once(
        routedCall(
          { ...hello, max_tokens: 5 },
          { routes: [{ ...route, settings: { max_completion_tokens: 9 } }] }
        )
      )
    )
  )
  t.equal(one.sent.length, 2)
  t.notMatch(String(one.sent[1]?.body), /max_completion_tokens|9/, 'nor by another name')
})

t.test('a key of the caller goes to the provider, and its failures do not count against ours', async t => {
  const one = scripted([429, '{}'], fine)
  const world = services({ one })
  const own = routedCall(hello, { providerKey: new Secret('sk-theirs') })
  await t.rejects(collect(providerCall(world, 'chat')(once(own))), { code: 'rate_limit_exceeded' })
  t.match(one.sent[0], { credential: { authorization: 'Bearer sk-theirs' } })
  t.equal((await collect(providerCall(world, 'chat')(once(routedCall(hello))))).length, 1)
})

t.test('a server that had not the API of a dialect gets requests of it again after a while', async t => {
  const [missing, direct] = [
    [404, ''] as const,
    [200, JSON.stringify({ status: 'completed', output: [] })] as const
  ]
  const one = scripted(missing, fine, fine, missing, busy, fine, missing, fine, direct)
  let now = 0
  const world = { ...services({ one }, { retries: 1 }), routeHealth: new RouteHealth(() => now) }
  const ask = async (): Promise<string[]> => {
    const before = one.sent.length
    await collect(
      providerCall(
        world,
        'chat'
      )(
        once(
          routedCall(hello, {
            fit: (request, _route, { isTranslated = false } = {}) =>
              isTranslated
                ? { request }
                : { request, direct: { dialect: 'responses', body: '{}', headers: {}, query: '' } }
          })
        )
      )
    )
    return one.sent.slice(before).map(({ path }) => path)
  }
  t.same(await ask(), ['/responses', '/chat/completions'])
  t.same(await ask(), ['/chat/completions'])
  now += missingMs
  t.same(await ask(), ['/responses', '/chat/completions', '/chat/completions'], 'also after a retry')
  now += missingMs
  t.same(await ask(), ['/responses', '/chat/completions'])
  now += missingMs
  t.same(await ask(), ['/responses'])
})

t.test('a call that has ended is not tried again, and rejects with its reason', async t => {
  const one = scripted(busy)
  const call = routedCall(hello, { signal: AbortSignal.abort(new GatewayError('client_closed_request')) })
  await t.rejects(collect(providerCall(services({ one }, { retries: 2 }), 'chat')(once(call))), {
    code: 'client_closed_request'
  })
  t.ok(one.sent.length <= 1)
})
