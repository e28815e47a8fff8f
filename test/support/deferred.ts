import { openDeferrals, type Deferrals } from '../../lib/deferred/deferrals.ts'
import { credentialDigest } from '../../lib/deferred/open-ticket.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { nowSeconds } from '../../lib/core/reply.ts'
import { providerSettings, settings } from './settings.ts'
import { routedCall } from './stages.ts'
import type { Test } from 'tap'
import type { AuthedCall } from '../../lib/core/call.ts'
import type { DeferredTicket } from '../../lib/deferred/sealed-tickets.ts'
import type { Provider, UpstreamResponse } from '../../lib/providers/provider.ts'
import type { Settings } from '../../lib/core/settings.ts'

export interface DeferredServices {
  readonly deferrals: Deferrals
  readonly providers: ReadonlyMap<string, Provider>
  readonly settings: Settings
}

/** Opens a store, with one provider that defers calls itself and gives this answer. */
export async function deferredServices (
  t: Test,
  send: () => Promise<UpstreamResponse>
): Promise<DeferredServices> {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const provider = createProvider(providerSettings('one', 'xai'), { send })
  return {
    deferrals: await openDeferrals(database),
    providers: new Map([['one', provider]]),
    settings: settings()
  }
}

/** Returns an id as the caller of `routedCall` has it. */
export function deferredId (
  { deferrals, providers }: DeferredServices,
  parts: Partial<DeferredTicket> = {}
): string {
  const provider = providers.get('one')
  if (provider === undefined) throw new Error('there is one provider')
  return deferrals.tickets.seal({
    key: 'key-1',
    createdSeconds: nowSeconds(),
    modelId: 'one/m',
    upstream: {
      providerId: 'one',
      model: 'm',
      upstreamId: 'u1',
      credential: credentialDigest(provider, undefined),
      legacy: false
    },
    ...parts
  })
}

/** Returns a call for the completion with this id. */
export function callFor (id: string): AuthedCall {
  return { ...routedCall({}), params: { request_id: id } }
}

export function upstreamResponse (status: number, body = ''): UpstreamResponse {
  return {
    status,
    headers: {},
    body: {
      buffer: async () => Buffer.from(body),
      cancel: () => undefined,
      async * [Symbol.asyncIterator] () { yield Buffer.from(body) }
    }
  }
}
