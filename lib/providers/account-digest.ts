import { createHash } from 'node:crypto'
import { accountIdOf, type Credential } from './credential.ts'
import type { Secret } from '../core/secret.ts'
import type { Provider } from './provider.ts'

/**
 * More credentials than a provider has. The search would have no end where a custom provider makes another
 * account for each place or each call.
 */
const maxCredentials = 1000

/**
 * Returns the credential of an account: the caller's own, or a configured one; `undefined` where neither is.
 */
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
    // There are no more: none at all, or a custom provider with one credential for every index.
    if (Object.keys(credential).length === 0 || digest === before) return undefined
    before = digest
  }
  return undefined
}

/**
 * Returns what identifies an account at a provider: a digest of the credential.
 *
 * @param callerKey the caller's own key there, where the call brings one
 * @param credential of one of several configured credentials. Default: the first
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
