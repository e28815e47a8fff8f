/** Identifies accounts at providers without their credentials. */

import { createHash } from 'node:crypto'
import { accountIdOf, type Credential } from './credential.ts'
import type { Secret } from '../core/secret.ts'
import type { Provider } from './provider.ts'

/** Bounds the search: a custom provider may return a different account for each index or each call. */
const maxCredentials = 1000

/** Returns the credential of an account: the caller's own or a configured one, if any. */
export function credentialOf (
  provider: Pick<Provider, 'authorize'>,
  account: string,
  callerKey?: Secret
): Credential | undefined {
  if (callerKey !== undefined && accountDigest(provider, callerKey) === account) {
    return provider.authorize(callerKey.reveal())
  }
  let before: string | undefined
  for (let index = 0; index < maxCredentials; index++) {
    const credential = provider.authorize(undefined, index)
    const digest = accountDigest(provider, undefined, index)
    if (digest === account) return credential
    // No further credentials: none exists, or a custom provider returns the same one for every index.
    if (Object.keys(credential).length === 0 || digest === before) return undefined
    before = digest
  }
  return undefined
}

/**
 * Returns a digest of the credential, which identifies an account at a provider.
 *
 * @param callerKey the caller's own key, if the call has one
 * @param credential index of the configured credential. Default: the first
 */
export function accountDigest (
  { authorize }: Pick<Provider, 'authorize'>,
  callerKey?: Secret,
  credential?: number
): string {
  return createHash('sha256')
    .update(accountIdOf(authorize(callerKey?.reveal(), credential)))
    .digest('hex')
    .slice(0, 16)
}
