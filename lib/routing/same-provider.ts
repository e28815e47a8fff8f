/** Compares the providers of two configurations. */

import { createHash } from 'node:crypto'
import type { Secret } from '../core/secret.ts'
import type { ProviderSettings } from '../core/settings.ts'

/**
 * Returns true for ids of providers that are the same server with the same credential in both settings, so
 * that their health still applies.
 */
export function sameProviders (
  before: readonly ProviderSettings[],
  now: readonly ProviderSettings[]
): (id: string) => boolean {
  const identities = new Map(before.map(provider => [provider.id, identityOf(provider)]))
  const same = new Set(
    now.filter(provider => identities.get(provider.id) === identityOf(provider)).map(({ id }) => id)
  )
  return id => same.has(id)
}

/**
 * Returns a digest by provider id. It is equal in all processes for the same server with the same credential.
 */
export function providerDigests (providers: readonly ProviderSettings[]): ReadonlyMap<string, string> {
  return new Map(
    providers.map(provider => [
      provider.id,
      createHash('sha256').update(identityOf(provider)).digest('base64url').slice(0, 16)
    ])
  )
}

/** Do not store the result: it contains the credential. */
function identityOf ({ kind, baseUrl, apiKey, apiKeys = [], headers }: ProviderSettings): string {
  const revealed = (secret: Secret | undefined): string | undefined => secret?.reveal()
  return JSON.stringify([
    kind,
    baseUrl,
    revealed(apiKey),
    apiKeys.map(({ key }) => revealed(key)),
    Object.entries(headers).map(([name, value]) => [name, revealed(value)])
  ])
}
