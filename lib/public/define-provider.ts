import { defaultSettings } from './default-settings.ts'
import type { Provider } from '../providers/provider.ts'

/** The required members. All others default to what the configuration gives a provider. */
export type ProviderDefinition = Pick<Provider, 'id' | 'transport' | 'adapters'> & Partial<Provider>

/**
 * Creates a provider of your own: an id, which is the prefix of its models, a transport that carries its
 * requests, and an adapter for each capability.
 *
 * @param definition `authorize` returns the credential of a request; default: none
 */
export function defineProvider (definition: ProviderDefinition): Provider {
  const [configured] = defaultSettings().providers
  if (configured === undefined) throw new Error('the default configuration has no provider')
  const { timeouts, retries, onDisconnect } = configured
  return {
    enabled: true,
    secrets: [],
    authorize: () => ({}),
    timeouts,
    retries,
    onDisconnect,
    quirks: {},
    traits: {},
    ...definition
  }
}
