/** Providers out of their settings: an address, a credential, and the adapters of their kind. */

import { withCallerPaths } from './caller-paths.ts'
import { anthropicChat, anthropicHeaders } from './anthropic/index.ts'
import { azureOpenaiChat, azureOpenaiHeaders } from './azure-openai/index.ts'
import { bearer, chatCompletions } from './chat-completions/index.ts'
import { googleEmbeddings } from './google/embeddings.ts'
import { googleImages } from './google/images.ts'
import { googleChat, googleHeaders } from './google/index.ts'
import { kindQuirks } from './kinds.ts'
import { bytesOnly } from './bytes-only.ts'
import { mistralOcr } from './mistral/ocr.ts'
import { openaiEmbeddings } from './openai/embeddings.ts'
import { openaiImageEdits, openaiImageVariations } from './openai/image-edits.ts'
import { openaiImages } from './openai/images.ts'
import { openaiSpeech } from './openai/speech.ts'
import { openaiTranscription, openaiTranslation } from './openai/transcription.ts'
import { xaiDeferred } from './xai/deferred.ts'
import { xaiChat } from './xai/index.ts'
import type { ProviderKind, ProviderSettings } from '../core/settings.ts'
import type { Adapters, Provider, Transport } from './provider.ts'

/** What a provider of this kind can do, and how it wants to be told who is asking. */
type Kind = Adapters & {
  readonly credential: (key: string) => Record<string, string>
}

/** A server of the dialect, with nothing but chat and embeddings for sure. */
const compatible: Kind = { chat: chatCompletions, embeddings: openaiEmbeddings, credential: bearer }

/** The image API; a server that does not have it answers so. */
const imageApi = { images: openaiImages, imageEdits: openaiImageEdits, imageVariations: openaiImageVariations }

/** OpenAI's API for sound, which others have copied as they did its chat. */
const audio = { speech: openaiSpeech, transcription: openaiTranscription, translation: openaiTranslation }

const kinds: Readonly<Partial<Record<ProviderKind, Kind>>> = {
  openai: { ...compatible, ...audio, ...imageApi },
  anthropic: { chat: anthropicChat, credential: anthropicHeaders },
  google: { chat: googleChat, embeddings: googleEmbeddings, images: googleImages, credential: googleHeaders },
  xai: { chat: xaiChat, deferred: xaiDeferred, images: openaiImages, credential: bearer },
  mistral: { ...compatible, ocr: mistralOcr },
  groq: { ...compatible, ...audio },
  together: { ...compatible, ...audio, ...imageApi },
  vllm: { ...compatible, ...audio },
  'openai-compatible': { ...compatible, ...audio, ...imageApi },
  sandbox: { ...compatible, ...audio, ...imageApi, ocr: mistralOcr },
  local: { speech: openaiSpeech, ocr: { ...mistralOcr, request: ask => mistralOcr.request(bytesOnly(ask)) }, credential: () => ({}) }
}

function kindOf ({ kind, options }: ProviderSettings): Kind {
  if (kind !== 'azure-openai') return kinds[kind] ?? compatible
  const version = options['api_version']
  return {
    chat: azureOpenaiChat(typeof version === 'string' ? version : undefined),
    credential: azureOpenaiHeaders
  }
}

/** @param transport carries requests to this provider */
export function createProvider (settings: ProviderSettings, transport: Transport): Provider {
  const { credential, chat, ...adapters } = kindOf(settings)
  const own = settings.apiKey === undefined ? {} : credential(settings.apiKey.reveal())
  return {
    id: settings.id,
    enabled: settings.enabled,
    transport,
    secrets: [...settings.apiKey === undefined ? [] : [settings.apiKey], ...Object.values(settings.headers)],
    authorize: callerKey => callerKey === undefined ? own : credential(callerKey),
    timeouts: settings.timeouts,
    retries: settings.retries,
    onDisconnect: settings.onDisconnect,
    quirks: { ...kindQuirks[settings.kind], ...settings.quirks },
    adapters: chat === undefined ? adapters : { ...adapters, chat: withCallerPaths(chat) }
  }
}
