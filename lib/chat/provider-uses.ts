/** What a conversation uses at a provider besides the model. */

import { callerPlace } from './caller-place.ts'
import { isObjectName } from '../json/object-names.ts'
import type { ChatInput } from './input.ts'
import type { ProviderUse } from '../core/provider-use.ts'

/**
 * Lists provider resources that a conversation uses, in any dialect: files and audio by id, caches, voices of
 * the account, media URLs.
 */
export function chatUses (request: ChatInput): readonly ProviderUse[] {
  const { messages, cached_content: cache, audio } = request
  const uses: ProviderUse[] = [...routerUses(request)]
  if (cache !== undefined) uses.push({ kind: 'object', param: 'cached_content' })
  if (typeof audio?.voice === 'object') uses.push({ kind: 'object', param: 'audio.voice' })
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`
    if (message.role === 'assistant' && message.audio !== undefined) {
      uses.push({ kind: 'object', param: callerPlace(`${param}.audio`, request) })
    }
    if (!Array.isArray(message.content)) continue
    for (const [position, part] of message.content.entries()) {
      for (const use of partUses(part, `${param}.content[${position}]`)) {
        uses.push({ ...use, param: callerPlace(use.param, request) })
      }
    }
  }
  return uses
}

/** Checks unknown fields of a part too: they are passed on to servers of the same dialect. */
function partUses (part: object, param: string): readonly ProviderUse[] {
  return Object.entries(part).flatMap(([name, value]): ProviderUse[] => {
    if (value === null || value === undefined || value === '') return []
    if (isObjectName(name)) return [{ kind: 'object', param: `${param}.${name}` }]
    if (typeof value === 'object') return [...partUses(value, `${param}.${name}`)]
    return typeof value === 'string' && isAddress(name, value)
      ? [{ kind: 'address', url: value, param: `${param}.${name}` }]
      : []
  })
}

function isAddress (name: string, value: string): boolean {
  return (name === 'url' || name === 'file_data') && isUrl(value)
}

/** Returns true for a URL, false for a `data:` URL or bare base64. */
export function isUrl (text: string): boolean {
  return /^\s*(?!data:)(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(text)
}

/** Fields of servers that route to other providers, such as OpenRouter and LiteLLM. */
const routerFields = [
  'models',
  'fallbacks',
  'fallback_models',
  'fallback',
  'context_window_fallbacks',
  'route',
  'router',
  'provider',
  'providers',
  'plugins',
  'preset',
  'extra_body'
] as const

/** Lists the fields of a request that make a server use other services. */
export function routerUses (request: object): readonly ProviderUse[] {
  return routerFields.flatMap((param): ProviderUse[] =>
    (Reflect.get(request, param) ?? undefined) === undefined ? [] : [{ kind: 'router_field', param }]
  )
}
