import { createHash } from 'node:crypto'
import type { Secret } from '../core/secret.ts'
import type { Provider } from './provider.ts'

/**
 * Returns what identifies an account at a provider: a digest of the credential.
 *
 * @param callerKey the caller's own key there, where the call brings one
 * @param place of one of several configured credentials. Default: the first
 */
export function accountDigest ({ authorize }: Pick<Provider, 'authorize'>, callerKey?: Secret, place?: number): string {
  return createHash('sha256').update(JSON.stringify(authorize(callerKey?.reveal(), place))).digest('hex').slice(0, 16)
}
