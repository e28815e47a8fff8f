/**
 * Names the fields of rejected requests as the caller wrote them.
 *
 * Adapters see one conversation, with the system prompt first and without messages that `instructions`
 * replaced. A location in it (`messages[3].content[0]`) is mapped back to the caller's list by object
 * identity. If a provider rejects a field under its own name, the caller's name is substituted.
 */

import { holdsBytes } from '../net/written-address.ts'
import type { AdapterInput } from './provider.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Message } from '../../schemas/messages.ts'

/** Returns the caller's name for a field of an embeddings request that a provider rejected. */
export function callerField (field: string, { quirks }: Pick<AdapterInput<unknown>, 'quirks'>): string {
  return originalName(field, quirks.rename)
}

/** Returns the location in the caller's body of a parameter that an adapter or a provider rejected. */
export function callerParam (
  param: string,
  { request, quirks }: Pick<AdapterInput<ChatInput>, 'request' | 'quirks'>
): string {
  const { messages, originalInput } = request
  const match = /^messages\[(\d{1,9})\](.*)$/s.exec(param)
  if (match === null) return writtenField(param, request, quirks.rename)
  const message = messages[Number(match[1])]
  if (message === undefined || originalInput === undefined) return param
  const index = originalInput.messages.indexOf(message)
  const { field, hasFlatParts, systemPromptField } = originalInput
  const [, , rest = ''] = match
  if (index !== -1) return `${field}[${index}]${hasFlatParts === true ? partField(message, rest) : rest}`
  return message.role === 'system' ? systemPromptField : field
}

/** Names a field of a part as the Responses API does, whose parts have no level of their own for it. */
function partField ({ content }: Message, path: string): string {
  const [, start = '', position, field] = /^(\.content\[(\d{1,9})\]\.)(.*)$/s.exec(path) ?? []
  const part = Array.isArray(content) ? content[Number(position)] : undefined
  if (part?.type === 'image_url' && field === 'image_url.url') return `${start}image_url`
  if (part?.type !== 'file' || field?.startsWith('file.') !== true) return path
  const { file_data: data } = part.file
  const isAddress = field === 'file.file_data' && typeof data === 'string' && !holdsBytes(data)
  return start + (isAddress ? 'file_url' : field.slice('file.'.length))
}

function writtenField (
  field: string,
  request: ChatInput,
  renamed: Readonly<Record<string, string>> | undefined
): string {
  const [name = field] = field.split(/[.[]/, 1)
  const written = request.callerNames?.[name]
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
