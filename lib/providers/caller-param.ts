/**
 * Names the fields of rejected requests as the caller wrote them, whether an adapter or a provider rejects
 * them.
 */

import { callerPlace } from '../chat/caller-place.ts'
import type { AdapterInput } from './provider.ts'
import type { ChatInput } from '../chat/input.ts'

/**
 * Returns how to name a rejected field of a request that is no conversation.
 *
 * @param content the field that holds what the model reads, instead of `messages`
 */
export function callerField (
  content: string
): (param: string, input: Pick<AdapterInput<unknown>, 'quirks'>) => string {
  return (param, { quirks }) =>
    /^messages(?:[.[]|$)/.test(param) ? content : originalName(param, quirks.rename)
}

/**
 * Returns the location in the caller's body of a parameter that an adapter or a provider rejected. A provider
 * that got this body itself names places in it, and only `messages` may stand for the conversation.
 */
export function callerParam (
  param: string,
  { request, quirks, direct }: Pick<AdapterInput<ChatInput>, 'request' | 'quirks' | 'direct'>
): string {
  if (direct !== undefined && param !== 'messages') return direct.callerParam?.(param) ?? param
  return /^(?:messages|tools)(?:[.[]|$)/.test(param)
    ? callerPlace(param, request)
    : writtenField(param, request, quirks.rename)
}

function writtenField (
  field: string,
  request: ChatInput,
  renamed: Readonly<Record<string, string>> | undefined
): string {
  const [name = field] = field.split(/[.[]/, 1)
  const written = request.callerNames?.[field] ?? request.callerNames?.[name]
  if (written !== undefined) return written
  if (
    field === 'max_completion_tokens' &&
    request.max_completion_tokens === undefined &&
    request.max_tokens !== undefined
  ) {
    return 'max_tokens'
  }
  if (
    field === 'max_tokens' &&
    request.max_tokens === undefined &&
    request.max_completion_tokens !== undefined
  ) {
    return 'max_completion_tokens'
  }
  return originalName(field, renamed)
}

function originalName (field: string, renamed: Readonly<Record<string, string>> = {}): string {
  return Object.entries(renamed).find(([, name]) => name === field)?.[0] ?? field
}
