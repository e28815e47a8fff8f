/**
 * `headgate/testing`: what a test of a stage or a pipeline of your own needs: a provider without a
 * network, services around it, and a call.
 *
 *     const services = testServices(sandboxProvider())
 * const call = callFrom<ChatInput>({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] })
 *     const handle = pipeline(providerCall(services, 'chat'), myStage(), normalise(), reply)
 *     const { status } = await handle(call)
 */

import { CallRecord } from '../core/record.ts'
import { createServices, type OwnedServices } from '../create-services.ts'
import { createProvider } from '../providers/index.ts'
import { simulatorId } from '../providers/kinds.ts'
import { sandboxTransport } from '../sandbox/transport.ts'
import { defaultSettings } from './default-settings.ts'
import { createLog } from '../log/log.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ApiKey } from '../core/key.ts'
import type { Reply } from '../core/reply.ts'
import type { Provider } from '../providers/provider.ts'

const testKey: ApiKey = { id: 'test', name: 'test' }

/** Creates the simulated provider: `sandbox/echo` repeats the question immediately. */
export function sandboxProvider (): Provider {
  const settings = defaultSettings().providers.find(({ id }) => id === simulatorId)
  if (settings === undefined) throw new Error('the default configuration has no sandbox')
  return createProvider(settings, sandboxTransport(settings.options))
}

/**
 * Creates the services of a gateway with the default configuration and these providers, without a store.
 * Every key is valid. `close` closes its sockets and timers.
 */
export function testServices (...providers: readonly Provider[]): OwnedServices {
  return createServices(defaultSettings(), {
    keys: { check: () => testKey }, log: createLog('silent'), ready: () => true, providers
  })
}

export interface CallOptions {
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: ApiKey
  /** Ends everything that belongs to the call. */
  readonly signal?: AbortSignal
}

/**
 * Creates a call in its state after routing, with the request as its body too, so that it can enter a
 * pipeline at any stage.
 *
 * @param request `model` names the provider and its model, `sandbox/echo`
 */
export function callFrom<R extends { readonly model?: unknown }> (
  request: R,
  options: CallOptions = {}
): RoutedCall<R> {
  const { headers = {}, key = testKey, signal = new AbortController().signal } = options
  const modelId = String(request.model)
  const [providerId = ''] = modelId.split('/', 1)
  return {
    id: 'test',
    headers,
    params: {},
    body: async () => request,
    signal,
    receivedAtMs: performance.now(),
    record: new CallRecord('chat'),
    key,
    request,
    routes: [{ providerId, model: modelId.slice(providerId.length + 1), modelId }]
  }
}

/** Reads the body of a reply to its end, as text. */
export async function textOf ({ body }: Reply): Promise<string> {
  if (typeof body === 'string') return body
  const pieces = body instanceof Uint8Array ? [body] : body
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of pieces) {
    text += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

export type { OwnedServices } from '../create-services.ts'
