/**
 * Calls that are to be answered later: a receipt now, the completion under its `request_id`.
 *
 * A provider that can defer does it itself. For the others, where the operator wants it, the call
 * is stored and run by the gateway; otherwise they answer at once, as if it had not been asked.
 */

import { GatewayError } from '../core/errors.ts'
import { digest, type DeferredId } from '../deferred/deferred-id.ts'
import { offersFunctionsOnly } from '../chat/legacy-functions.ts'
import { once } from '../core/stage.ts'
import { providerCall } from './provider-call.ts'
import type { Route } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Secret } from '../core/secret.ts'
import type { Deferrals } from '../deferred/deferrals.ts'
import type { Provider } from '../providers/provider.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Reply } from '../core/reply.ts'
import type { Services } from '../services.ts'
import type { Sink } from '../core/stage.ts'

type ChatCall = RoutedCall<ChatInput>

/** A stored call, as JSON: what is needed to run it, without any credential. */
export interface DeferredTask {
  readonly id: string
  readonly key: ChatCall['key']
  readonly request: ChatInput
  readonly routes: ChatCall['routes']
}

/**
 * Answers a call: with a receipt if it is to be deferred, with `answer` otherwise.
 *
 * @throws GatewayError `unsupported_parameter` for deferred calls with `stream`, with tool servers
 *   (the credentials for them would have to be kept) and, where the gateway runs them, with a
 *   provider key of the caller; `overloaded` when too many wait; `insufficient_quota` when too much
 *   is kept for the key
 */
export function defer (
  services: Services, answer: Sink<ChatCall, Reply>
): (call: ChatCall) => Promise<Reply> {
  const { deferrals, providers, settings } = services
  const start = providerCall(services, 'deferred')
  return async call => {
    if (call.request.deferred !== true || deferrals === undefined) return await answer(once(call))
    const [first, ...others] = call.routes
    const canDefer = ({ providerId }: Route): boolean => providers.get(providerId)?.adapters.deferred !== undefined
    const native = canDefer(first)
    if (!native && !settings.deferred.emulate) return await answer(once(call))
    refuseUnsupported(call.request)
    await checkKept(call, deferrals, settings.deferred.keyBytes)
    call.record.deferred = true
    if (!native) return receipt(await storeTask(call, deferrals, settings.deferred), first.modelId)

    for await (const { route, events } of start(once({ ...call, routes: [first, ...others.filter(canDefer)] }))) {
      const [event] = events
      const provider = providers.get(route.providerId)
      if (event === undefined || provider === undefined) continue
      return receipt(deferrals.seal.seal(ticketOf(call, route, provider, event.result)), route.modelId)
    }
    throw new GatewayError('upstream_invalid_response', { cause: 'no request_id' })
  }
}

/** Before the provider is asked: an answer that is paid for is always kept. */
async function checkKept ({ key }: ChatCall, { store }: Deferrals, mostBytes: number): Promise<void> {
  if (await store.keptBytes(key.id) < mostBytes) return
  throw new GatewayError('insufficient_quota', {
    status: 429,
    message: `The deferred completions kept for this key take ${mostBytes} bytes or more. There is room again when the oldest expire.`
  })
}

/** Says whose completion it is, without saying the credential. */
export function credentialDigest (provider: Provider, callerKey: Secret | undefined): string {
  return digest(JSON.stringify(provider.authorize(callerKey?.reveal())))
}

function ticketOf (call: ChatCall, { providerId, model, modelId }: Route, provider: Provider, upstreamId: string): DeferredId {
  return {
    key: call.key.id,
    createdSeconds: nowSeconds(),
    modelId,
    at: {
      providerId,
      model,
      upstreamId,
      credential: credentialDigest(provider, call.providerKey),
      legacy: offersFunctionsOnly(call.request)
    }
  }
}

async function storeTask (
  { id, key, request, routes, providerKey }: ChatCall, { seal, store, events: news }: Deferrals, { keepMs, pending }: Services['settings']['deferred']
): Promise<string> {
  if (providerKey !== undefined) {
    throw unsupported('deferred', 'A call with a provider key of your own cannot be deferred: the key is not kept.')
  }
  const requestId = seal.seal({ key: key.id, createdSeconds: nowSeconds(), modelId: routes[0].modelId })
  const { deferred: _, ...rest } = request
  const task: DeferredTask = { id, key, request: rest, routes }
  const added = await store.add({ id: digest(requestId), keyId: key.id, task: JSON.stringify(task) }, Date.now() + keepMs, pending)
  if (!added) throw new GatewayError('overloaded', { message: 'Too many deferred calls are waiting, or too many of this key. Try again.' })
  news.emit('added')
  return requestId
}

function refuseUnsupported ({ stream, mcp_servers: servers }: ChatInput): void {
  if (stream === true) throw unsupported('stream', 'A deferred completion cannot be streamed.')
  if (servers !== undefined && [servers].flat().length > 0) {
    throw unsupported('mcp_servers', 'A deferred completion cannot use tools on the server.')
  }
}

function unsupported (param: string, message: string): GatewayError {
  return new GatewayError('unsupported_parameter', { message, param })
}

/** A completion without choices, so that clients which read one can read this. */
function receipt (requestId: string, model: string): Reply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({
      id: requestId, object: 'chat.completion', created: nowSeconds(), model, choices: [], request_id: requestId
    })
  }
}

function nowSeconds (): number {
  return Math.floor(Date.now() / 1000)
}
