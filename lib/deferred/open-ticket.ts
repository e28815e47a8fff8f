/** Resolves the id of a deferred completion for the key it belongs to. */

import { GatewayError } from '../core/errors.ts'
import { digest, type DeferredTicket } from './sealed-tickets.ts'
import { accountIdOf, configuredCredential, type Credential } from '../providers/credential.ts'
import type { AuthedCall } from '../core/call.ts'
import type { Secret } from '../core/secret.ts'
import type { Provider } from '../providers/provider.ts'
import type { Deferrals } from './deferrals.ts'

/**
 * Opens the id that a caller sends; `id` is its name in the store.
 *
 * @throws GatewayError `deferred_completion_not_found` for an id that is unknown, expired or of another key
 */
export function openTicket (
  { params, key, record }: AuthedCall,
  { tickets }: Deferrals,
  keepMs: number
): { id: string, ticket: DeferredTicket } {
  const given = params['request_id'] ?? ''
  const ticket = tickets.open(given)
  const nowMs = Date.now()
  if (ticket === undefined || ticket.key !== key.id || ticket.createdSeconds * 1000 + keepMs < nowMs) {
    throw notFound()
  }
  record.routing.modelId = ticket.modelId
  return { id: digest(given), ticket }
}

export function notFound (message?: string): GatewayError {
  return new GatewayError('deferred_completion_not_found', {
    param: 'request_id',
    ...message !== undefined && { message }
  })
}

/** Identifies the credential that requests a completion, without revealing it. */
export function credentialDigest (provider: Provider, callerKey: Secret | undefined): string {
  return digest(accountIdOf(provider.authorize(callerKey?.reveal())))
}

/**
 * Returns the credential that requested a completion: the caller's own key if given, else a configured one,
 * which need not be the first any more. `undefined` if there is none.
 */
export function fetchCredential (
  provider: Provider,
  callerKey: Secret | undefined,
  requested: string
): Credential | undefined {
  const isRequested = (accountId: string): boolean => digest(accountId) === requested
  if (callerKey === undefined) return configuredCredential(provider, isRequested)
  const own = provider.authorize(callerKey.reveal())
  return isRequested(accountIdOf(own)) ? own : undefined
}
