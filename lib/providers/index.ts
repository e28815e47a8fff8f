/** Providers out of their settings: an address, a credential, and the adapters of their kind. */

import { anthropicChat, anthropicHeaders } from './anthropic/index.ts'
import { bearer, chatCompletions } from './chat-completions/index.ts'
import { googleChat, googleHeaders } from './google/index.ts'
import { kindQuirks } from './kinds.ts'
import { bytesOnly } from './local/bytes-only.ts'
import { mistralOcr } from './mistral/ocr.ts'
import { openaiImages } from './openai/images.ts'
import type { ProviderKind, ProviderSettings } from '../settings.ts'
import type { Provider, Transport } from './provider.ts'

type Adapters = Pick<Provider, 'chat' | 'images' | 'imageEdits' | 'imageVariations' | 'ocr'>

/** What a provider of this kind can do, and how it wants to be told who is asking. */
interface Kind extends Adapters {
  readonly credential: (key: string) => Record<string, string>
}

const compatible: Kind = { chat: chatCompletions, credential: bearer }

/** Servers of the dialect that also have the image API; others answer that they do not. */
const withImages: Kind = { ...compatible, images: openaiImages }

const kinds: Readonly<Partial<Record<ProviderKind, Kind>>> = {
  anthropic: { chat: anthropicChat, credential: anthropicHeaders },
  google: { chat: googleChat, credential: googleHeaders },
  local: { ocr: { ...mistralOcr, request: ask => mistralOcr.request(bytesOnly(ask)) }, credential: () => ({}) },
  mistral: { ...compatible, ocr: mistralOcr },
  openai: withImages,
  'azure-openai': withImages,
  xai: withImages,
  sandbox: { ...withImages, ocr: mistralOcr },
  together: withImages,
  'openai-compatible': withImages
}

/** @param transport carries requests to this provider */
export function createProvider (settings: ProviderSettings, transport: Transport): Provider {
  const { credential, ...adapters } = kinds[settings.kind] ?? compatible
  const own = settings.apiKey === undefined ? {} : credential(settings.apiKey.reveal())
  return {
    id: settings.id,
    enabled: settings.enabled,
    transport,
    authorize: callerKey => callerKey === undefined ? own : credential(callerKey),
    timeouts: settings.timeouts,
    retries: settings.retries,
    onDisconnect: settings.onDisconnect,
    quirks: { ...kindQuirks[settings.kind], ...settings.quirks },
    ...adapters
  }
}
