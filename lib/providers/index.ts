/** Creates providers from their settings: address, credential, and the adapters of their kind. */

import { isOwnHost } from '../net/own-host.ts'
import type { ProviderSettings } from '../core/settings.ts'
import { callerField, callerParam } from './caller-param.ts'
import { authorizeWith } from './credential.ts'
import { kinds } from './kinds.ts'
import { promptAsMessage } from './prompt-as-message.ts'
import type { Propagation } from '../core/call-trace.ts'
import type { Provider, Transport } from './provider.ts'

/** @param transport sends requests to this provider */
export function createProvider (settings: ProviderSettings, transport: Transport): Provider {
  const { baseUrl, credential, adapters, quirks, customAddressQuirks, traits = {} } = kinds[settings.kind]
  const given = typeof adapters === 'function' ? adapters(settings.options) : adapters
  const {
    chat, textCompletion = chat && promptAsMessage(chat), tokenCount, deferred, embeddings, speech,
    transcription, translation, images, imageEdits, imageVariations, ocr, ...others
  } = given
  const keys =
    settings.apiKeys?.map(({ key }) => key) ?? (settings.apiKey === undefined ? [] : [settings.apiKey])
  return {
    id: settings.id,
    enabled: settings.enabled,
    transport,
    secrets: [...keys, ...Object.values(settings.headers)],
    authorize: authorizeWith(keys, key => credential(key, settings.options)),
    timeouts: settings.timeouts,
    slowStream: settings.slowStream,
    retries: settings.retries,
    propagate: settings.propagate ?? defaultPropagation(settings.baseUrl),
    onDisconnect: settings.onDisconnect,
    quirks: { ...quirks, ...settings.baseUrl !== baseUrl && customAddressQuirks, ...settings.quirks },
    traits,
    adapters: {
      ...chat && { chat: { ...chat, callerParam } },
      ...textCompletion && { textCompletion: { ...textCompletion, callerParam: callerField('prompt') } },
      ...tokenCount && { tokenCount: { ...tokenCount, callerParam } },
      ...deferred && { deferred: { ...deferred, callerParam } },
      ...embeddings && { embeddings: { ...embeddings, callerParam: callerField('input') } },
      ...speech && { speech: { ...speech, callerParam: callerField('input') } },
      ...transcription && { transcription: { ...transcription, callerParam: callerField('file') } },
      ...translation && { translation: { ...translation, callerParam: callerField('file') } },
      ...images && { images: { ...images, callerParam: callerField('prompt') } },
      ...imageEdits && { imageEdits: { ...imageEdits, callerParam: callerField('prompt') } },
      ...imageVariations && { imageVariations: { ...imageVariations, callerParam: callerField('image') } },
      ...ocr && { ocr: { ...ocr, callerParam: callerField('document') } },
      ...others
    }
  }
}

function defaultPropagation (baseUrl: string): Propagation {
  return URL.canParse(baseUrl) && isOwnHost(new URL(baseUrl)) ? 'traceparent' : 'none'
}
