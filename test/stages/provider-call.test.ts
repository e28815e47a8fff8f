import t from 'tap'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { PreparedRequest } from '../../lib/attempts/prepared-request.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { reportedBy } from '../../lib/core/usage.ts'
import { chain } from '../../lib/pipeline/chain.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { canServe } from '../../lib/routing/decision.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { missingMs } from '../../lib/routing/missing-apis.ts'
import { AnswerBatches, providerCall } from '../../lib/stages/provider-call.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { providerSettings } from '../support/settings.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import { chatAnswer } from '../support/upstream.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { CallRecord } from '../../lib/core/record.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'
import type { ImageEvent } from '../../lib/core/events.ts'
import type { RequestOf, SendOptions, Transport, UpstreamRequest } from '../../lib/providers/provider.ts'

interface Scripted extends Transport {
  readonly sent: Array<UpstreamRequest & SendOptions>
}

/** Answers with these statuses and bodies, one per request; the last one repeats. */
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

function services (transports: Record<string, Transport>, parts: Partial<ProviderSettings> = {}) {
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
    settings: { limits },
    abandonedAnswers: new AbandonedAnswers(),
    routingState: new RoutingState()
  }
}

t.test('a complete answer is one batch from the route that gave it', async t => {
  const one = scripted(fine)
  const call = routedCall(hello)
  const batches = await collect(providerCall(services({ one }), 'chat')(once(call)))
  t.equal(batches.length, 1)
  t.equal(batches[0]?.route, route)
  t.match(batches[0]?.events, [{ type: 'answer-start' }, { type: 'text-delta', text: 'fine' }])
  t.match(call.record, {
    routing: { modelId: 'one/m', providerId: 'one', chosen: route, requestCount: 1 },
    request: { isStreamed: false }
  })
  t.match(one.sent, [{ method: 'POST', credential: { authorization: 'Bearer sk-ours' } }])
})

t.test('the next route is tried if one fails, and the record says why', async t => {
  const [one, two] = [scripted(busy), scripted(fine)]
  const call = routedCall(hello, { routes: [route, other] })
  const [batch] = await collect(providerCall(services({ one, two }), 'chat')(once(call)))
  t.equal(batch?.route, other)
  t.match(call.record, {
    routing: { modelId: 'two/m', requestCount: 2, unusedRoutes: [{ route }], retries: undefined }
  })
})

t.test('a transient failure is retried as often as configured for the provider', async t => {
  const one = scripted(busy, fine)
  const call = routedCall(hello)
  t.equal((await collect(providerCall(services({ one }, { retries: 1 }), 'chat')(once(call)))).length, 1)
  t.match(call.record, { routing: { requestCount: 2, retries: 1 } })
  t.ok(
    call.record.times.upstreamWaitMs >= 70,
    `the pause before the retry counts as waiting: ${call.record.times.upstreamWaitMs} ms`
  )
})

t.test("a caller's mistake ends the call, as every provider would refuse it", async t => {
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

t.test('settings of a route apply where the request sets nothing', async t => {
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

t.test('a key of the caller is sent to the provider, and its failures do not count against ours', async t => {
  const one = scripted([429, '{}'], fine)
  const world = services({ one })
  const own = routedCall(hello, { providerKey: new Secret('sk-theirs') })
  await t.rejects(collect(providerCall(world, 'chat')(once(own))), { code: 'rate_limit_exceeded' })
  t.match(one.sent[0], { credential: { authorization: 'Bearer sk-theirs' } })
  t.equal((await collect(providerCall(world, 'chat')(once(routedCall(hello))))).length, 1)
})

t.test("a server that lacked a dialect's API is tried again after a while", async t => {
  const [missing, direct] = [
    [404, ''] as const,
    [200, JSON.stringify({ status: 'completed', output: [] })] as const
  ]
  const one = scripted(missing, fine, fine, missing, busy, fine, missing, fine, direct)
  let now = 0
  const world = { ...services({ one }, { retries: 1 }), routingState: new RoutingState(() => now) }
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

t.test('a call that has ended is not retried, and rejects with its reason', async t => {
  const one = scripted(busy)
  const call = routedCall(hello, { signal: AbortSignal.abort(new GatewayError('client_closed_request')) })
  await t.rejects(collect(providerCall(services({ one }, { retries: 2 }), 'chat')(once(call))), {
    code: 'client_closed_request'
  })
  t.ok(one.sent.length <= 1)
})

const reported = { input_tokens: 7, output_tokens: 2, total_tokens: 9 }
const usage = { promptTokens: 7, completionTokens: 2, totalTokens: 9 }
const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const broken = new GatewayError('upstream_stream_interrupted')
const gone = new GatewayError('client_closed_request')

/** What a provider sends, and what happens while its answer is read. */
interface Ending {
  /** Texts of the body; an error breaks the connection. */
  readonly sends: ReadonlyArray<string | GatewayError>
  readonly stream?: boolean
  /** When the caller disconnects: before the answer begins, or after the first events. */
  readonly leaves?: 'before' | 'within'
  /** True for an answer that begins without output, as if the wait for it was over. */
  readonly isHeld?: boolean
}

/** Returns the record of a call whose answer ended like this. */
async function recordOf (
  { sends, stream = true, leaves, isHeld = leaves === 'within' }: Ending
): Promise<CallRecord> {
  const caller = new AbortController()
  const begun = withResolvers<undefined>()
  const request: RequestOf<'images'> = { model: 'one/m', prompt: 'a cat', stream }
  const call = routedCall(request, { signal: caller.signal })
  call.record.cost.reservedNanoUsd = 1 // so the answer is read to its end, whether its caller waits or not
  const transport: Transport = {
    send: async (_, { onSent }) => {
      onSent?.()
      if (leaves === 'before') caller.abort(gone)
      return {
        status: 200,
        headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
        body: {
          buffer: async () => Buffer.from(sends.join('')),
          cancel: () => undefined,
          async * [Symbol.asyncIterator] () {
            if (isHeld) await begun.promise
            for (const sent of sends) {
              if (typeof sent !== 'string') throw sent
              yield Buffer.from(sent)
            }
          }
        }
      }
    }
  }
  const stage = chain(
    providerCall(services({ one: transport }), 'images', { holdMs: isHeld ? 1 : 60_000 }),
    recordUsage<RequestOf<'images'>, ImageEvent>()
  )
  const batches = stage(once(call))[Symbol.asyncIterator]()
  try {
    if (isHeld) t.same((await batches.next()).value?.events, [])
    begun.resolve(undefined)
    if (leaves === 'within') {
      await batches.next()
      caller.abort(gone)
      await batches.return?.()
    }
    while ((await batches.next()).done !== true);
  } catch (error) {
    t.type(error, GatewayError)
  }
  await call.record.end.whenUsageKnown
  return call.record
}

t.test('reported usage is known, however the answer ends', async t => {
  const item = { type: 'image_generation.completed', b64_json: '', usage: reported }
  const image = sse({ ...item, b64_json: 'AAAA' })
  const partial = sse({ type: 'image_generation.partial_image', b64_json: 'AA' })
  const json = JSON.stringify({ data: [{}], usage: reported })
  const endings: Readonly<Record<string, Ending & { readonly isWasted?: boolean }>> = {
    'no image': { sends: [sse(item)], isWasted: true },
    'no image, and the connection breaks': { sends: [sse(item), broken], isWasted: true },
    'no image after the hold': { sends: [sse(item)], isHeld: true },
    'no image after the hold, and the connection breaks': { sends: [sse(item), broken], isHeld: true },
    'an image, and the connection breaks': { sends: [image, broken] },
    'no image in JSON': { sends: [json], stream: false, isWasted: true },
    'no image in JSON, without its caller': { sends: [json], stream: false, leaves: 'before' },
    'no image in JSON in place of a stream, after the hold': { sends: [json], isHeld: true },
    'no image, without its caller': { sends: [sse(item)], leaves: 'before' },
    'an image without its caller, and the connection breaks': {
      sends: [partial, image, broken], leaves: 'within'
    }
  }
  for (const [name, { isWasted = false, ...ending }] of Object.entries(endings)) {
    const record = await recordOf(ending)
    const { total, wasted } = record.usage
    t.same(isWasted ? wasted?.map(one => one.usage) : total, isWasted ? [usage] : usage, name)
    t.same(isWasted ? record.usage.total : record.usage.wasted, undefined, `${name}: once`)
    t.not(record.usage.isEstimated, true)
  }
})

t.test('reported usage of a stream is known if it breaks off or is abandoned', async t => {
  const chunk = (counts: object): string => sse({
    id: 'x', choices: [{ index: 0, delta: { content: 'hello' } }], usage: { prompt_tokens: 7, ...counts }
  })
  const streams: ReadonlyArray<readonly [ProviderSettings['kind'], text: string, output: number]> = [
    ['openai-compatible', chunk({ completion_tokens: 2, total_tokens: 9 }), 2],
    ['xai', chunk({
      completion_tokens: 2, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 3 }
    }), 5],
    ['google', sse({
      candidates: [{ content: { parts: [{ text: 'hello' }] } }],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 2 }
    }), 2],
    ['anthropic', sse({ type: 'message_start', message: { id: 'x', usage: { input_tokens: 7 } } }) +
      sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
      sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } }), 0]
  ]
  for (const [kind, text, output] of streams) {
    for (const end of ['breaks', 'is given up']) {
      const transport: Transport = {
        send: async () => ({
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: {
            buffer: async () => Buffer.from(text),
            cancel: () => undefined,
            async * [Symbol.asyncIterator] () {
              yield Buffer.from(text)
              throw broken
            }
          }
        })
      }
      const call = routedCall({ ...hello, stream: true })
      const stage = chain(providerCall(services({ one: transport }, { kind }), 'chat'), recordUsage())
      const batches = stage(once(call))[Symbol.asyncIterator]()
      await batches.next()
      if (end === 'breaks') await t.rejects(batches.next(), { code: 'upstream_stream_interrupted' })
      else await batches.return?.()
      const { usage: { total: usage, reported } } = call.record
      t.equal(usage, undefined, `${kind}: not all of it`)
      const expected = { unreported: 0, requests: [{ promptTokens: 7, completionTokens: output }] }
      t.match(reported, expected, `${kind} ${end}`)
    }
  }
})

t.test('a part that any key has had answered is not sent again, nor charged twice', async t => {
  const one = scripted(fine, busy, busy, fine, busy, fine)
  const { providers, settings } = services({ one }, { kind: 'deepseek' })
  const provider = providers.get('one')
  const adapter = provider?.adapters.chat
  if (provider === undefined || adapter === undefined) throw new Error('there is no provider')
  const request = new PreparedRequest(routedCall({ ...hello, n: 3 }), route, {
    provider,
    adapter,
    bounds: settings.limits,
    abandoned: new AbandonedAnswers(),
    journalSent: undefined,
    isFree: false,
    missingApis: new RoutingState().missingApis
  })
  const attempt = (credentialIndex: number): Parameters<typeof request.send>[0] =>
    ({
      credentialIndex, span: undefined, mayBeAtWork: false,
      recordSent: () => {}, recordProviderStopped: () => {}
    })
  for (const [credential, sent] of [[0, 3], [1, 5]] as const) {
    await t.rejects(request.send(attempt(credential)))
    t.equal(one.sent.length, sent)
  }
  const answer = await request.send(attempt(0))
  t.equal(one.sent.length, 6)
  const usages = (await answer.next())?.flatMap(event => event.type === 'usage' ? [event.usage] : [])
  t.match(usages, [{ totalTokens: 12 }])
  const part = { usage: { totalTokens: 4 }, share: { prompt: 1, answer: 1 / 3, images: 1 / 3 } }
  t.match(request.unusedParts(), [part, part, part])
})

/**
 * An answer with these reads, followed by the failure if there is one.
 *
 * @param isKnown true: the answer knows that its last read is the last
 */
function startBatches (reads: ReadonlyArray<readonly string[]>, failure?: Error, isKnown = false) {
  let opened = 0
  let closed = 0
  const left = [...reads]
  const batches = new AnswerBatches(routedCall({}), {
    open: async () => {
      opened++
      return await Promise.resolve({
        route,
        next: async () => {
          const read = left.shift()
          if (read === undefined && failure !== undefined) throw failure
          return await Promise.resolve(read === undefined ? undefined : [...read])
        },
        isFinished: () => isKnown && left.length === 0,
        sizeBytes: () => 0,
        reported: () => reportedBy(undefined),
        close: () => { closed++ }
      })
    },
    fail: (error, route) => new Error(`${route.modelId} broke off`, { cause: error })
  })
  return { batches, counts: () => [opened, closed] }
}

t.test('an answer is opened at the first read and closed after the last', async t => {
  const { batches, counts } = startBatches([['a'], ['b', 'c']])
  t.same(counts(), [0, 0])
  t.same(
    (await collect(batches)).map(({ route, events }) => [route.modelId, events]),
    [
      ['one/m', ['a']],
      ['one/m', ['b', 'c']]
    ]
  )
  t.same(counts(), [1, 1])
  t.same(await batches.next(), { done: true, value: undefined })
})

t.test('an answer that knows its last read is closed before that read is returned', async t => {
  const { batches, counts } = startBatches([['a'], ['b']], undefined, true)
  t.same((await batches.next()).value?.events, ['a'])
  t.same(counts(), [1, 0])
  t.same((await batches.next()).value?.events, ['b'])
  t.same(counts(), [1, 1])
  t.same(await batches.next(), { done: true, value: undefined })
  t.same(counts(), [1, 1], 'once')
})

t.test('the first read may be empty and still gives a batch; later empty reads are skipped', async t => {
  t.same((await collect(startBatches([[], [], ['a'], []]).batches)).map(({ events }) => events), [[], ['a']])
})

t.test('an interruption is reported with its route, and closes the answer', async t => {
  const { batches, counts } = startBatches([['a']], new Error('cut'))
  t.same((await batches.next()).value?.events, ['a'])
  await t.rejects(batches.next(), { message: 'one/m broke off', cause: { message: 'cut' } })
  t.same(counts(), [1, 1])
  t.same(await batches.next(), { done: true, value: undefined })
})

t.test('stopping early closes the answer; one that was never read is not opened', async t => {
  const { batches, counts } = startBatches([['a'], ['b']])
  for await (const _ of batches) break
  t.same(counts(), [1, 1])
  await batches.return()
  t.same(counts(), [1, 1], 'once')
  const unread = startBatches([['a']])
  await unread.batches.return()
  t.same([await unread.batches.next(), unread.counts()], [{ done: true, value: undefined }, [0, 0]])
})
