/** Providers out of their settings: an address, a credential, and the adapters of their kind. */

import { bearer, chatCompletions } from './chat-completions/index.ts'
import { kindQuirks } from './kinds.ts'
import type { ProviderSettings } from '../settings.ts'
import type { Provider, Transport } from './provider.ts'

/** What a provider of this kind can do, and how it wants to be told who is asking. */
interface Kind extends Pick<Provider, 'chat'> {
  readonly credential: (key: string) => Record<string, string>
}

const compatible: Kind = { chat: chatCompletions, credential: bearer }

function kindOf (_settings: ProviderSettings): Kind {
  return compatible
}

/**
 * @param transport carries requests to this provider
 * @param options `enabled: false` for one the operator did not configure, which serves only calls
 *   that bring their own key
 */
export function createProvider (
  settings: ProviderSettings, transport: Transport, { enabled = true }: { enabled?: boolean } = {}
): Provider {
  const { credential, ...adapters } = kindOf(settings)
  const own = settings.apiKey === undefined ? {} : credential(settings.apiKey.reveal())
  return {
    id: settings.id,
    enabled,
    transport,
    authorize: callerKey => callerKey === undefined ? own : credential(callerKey),
    timeouts: settings.timeouts,
    retries: settings.retries,
    onDisconnect: settings.onDisconnect,
    quirks: { ...kindQuirks[settings.kind], ...settings.quirks },
    ...adapters
  }
}
