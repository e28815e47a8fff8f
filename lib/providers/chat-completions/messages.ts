/**
 * Reduces messages to the fields of the dialect. Callers send back history with fields of other providers
 * (`reasoning_content`, thinking blocks, annotations, nulls), which some servers reject and none needs.
 * Unknown roles are mapped to known ones.
 */

import { answerParts, hasTurnOrder, textPhases } from '../../chat/turn-order.ts'
import { GatewayError } from '../../core/errors.ts'
import type {
  AssistantMessage, AssistantPart, Message, ToolCall, UserPart
} from '../../../schemas/messages.ts'
import { createHash } from 'node:crypto'
import type { Quirks } from '../../core/provider-traits.ts'

const knownFields: Readonly<Record<Message['role'], readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'refusal', 'tool_calls', 'audio', 'function_call'],
  tool: ['role', 'content', 'tool_call_id'],
  function: ['role', 'content', 'name']
}

/**
 * Returns the same list if no message changes.
 *
 * @throws GatewayError `invalid_value` for an image URL that must not be sent to a provider
 */
export function wireConversation (messages: readonly Message[], quirks: Quirks): readonly Message[] {
  const wired = mapSame(messages, (message, index) => wireMessage(message, index, quirks))
  // Strict servers reject assistant turns that are empty after reasoning and similar fields were removed.
  const sent = wired.some(isEmptyTurn) ? wired.filter(message => !isEmptyTurn(message)) : wired
  return quirks.userAfterTool === false ? withTurnAfterTools(sent) : sent
}

/** Inserts an assistant turn between tool results and a user message, for servers that require one. */
function withTurnAfterTools (messages: readonly Message[]): readonly Message[] {
  const followsTool = (index: number): boolean =>
    messages[index]?.role === 'user' && messages[index - 1]?.role === 'tool'
  if (!messages.some((_, index) => followsTool(index))) return messages
  return messages.flatMap((message, index): Message[] =>
    followsTool(index) ? [{ role: 'assistant', content: 'I have the results.' }, message] : [message]
  )
}

function isEmptyTurn (message: Message): boolean {
  if (message.role !== 'assistant') return false
  const { content, tool_calls: calls, refusal, audio, function_call: legacyCall } = message
  const hasContent = content === '' || (content?.length ?? 0) > 0 // an empty string counts as content
  return (
    !hasContent &&
    (calls?.length ?? 0) === 0 &&
    refusal === undefined &&
    audio === undefined &&
    legacyCall === undefined
  )
}

/** Maps a list; returns the same list if no item changes. */
export function mapSame<T> (list: readonly T[], map: (item: T, index: number) => T): readonly T[] {
  const mapped = list.map(map)
  return mapped.every((item, index) => item === list[index]) ? list : mapped
}

function wireMessage (given: Message, index: number, quirks: Quirks): Message {
  const cleaned = clean(given, quirks)
  const message = quirks.contentLists === false || isListForOrder(given) ? withoutList(cleaned) : cleaned
  switch (message.role) {
    case 'user':
      if (typeof message.content !== 'string') {
        checkImages(message.content, index)
        if (quirks.fileUrls !== true) rejectFileUrls(message.content, index)
      }
      return message
    // Most servers reject roles newer than `system`.
    case 'developer': return quirks.developerRole === true ? message : { ...message, role: 'system' }
    case 'assistant': {
      const turn = quirks.refusals === false ? withRefusalAsText(message) : message
      return withToolCallIds(withWireCalls(turn, quirks), quirks)
    }
    case 'tool': return withToolCallIds(message, quirks)
    case 'system':
    case 'function':
      return message
    default: return message satisfies never
  }
}

/** Returns true for an answer that is a list only because its texts have thinking between them, or phases. */
function isListForOrder (message: Message): boolean {
  if (message.role !== 'assistant') return false
  if (!hasTurnOrder(message) && textPhases(message).length === 0) return false
  return answerParts(message.content).every(part => part.type === 'text' && !('cache_control' in part))
}

/** Joins a list of texts, for servers that take only a text. A list with other parts stays. */
function withoutList (message: Message): Message {
  if (!Array.isArray(message.content) || message.content.length === 0) return message
  const texts = message.content.map(partText)
  if (texts.includes(undefined)) return message
  return { ...message, content: texts.join(message.role === 'assistant' ? '' : '\n\n') }
}

/** Sends a refusal as text, for servers that do not know the field. */
function withRefusalAsText (message: AssistantMessage): AssistantMessage {
  const { refusal, ...rest } = message
  const isRefused = Array.isArray(rest.content) && rest.content.some(({ type }) => type === 'refusal')
  return refusal === undefined && !isRefused ? message : { ...rest, content: answerTexts(message).join('') }
}

/** Returns the texts of an assistant message, refusals included. */
export function answerTexts ({ content, refusal }: AssistantMessage): string[] {
  return [
    ...answerParts(content).map(part => part.type === 'refusal' ? part.refusal : part.text),
    refusal ?? ''
  ]
}

function partText (part: UserPart | AssistantPart): string | undefined {
  if (part.type === 'text') return part.text
  return part.type === 'refusal' ? part.refusal : undefined
}

function clean (message: Message, { keepInHistory = [], messageNames = 'all' }: Quirks): Message {
  const fields = fieldsOf(message.role, messageNames)
  let hasSpareField = false
  for (const key in message) {
    if (!fields.includes(key) || Reflect.get(message, key) === null) hasSpareField = true
  }
  if (!hasSpareField) return message
  const kept: Record<string, unknown> = {}
  for (const key in message) {
    const value: unknown = Reflect.get(message, key)
    const isKept = fields.includes(key) || (message.role === 'assistant' && keepInHistory.includes(key))
    // Keep null content: the answer was a tool call.
    if (isKept && (value !== null || key === 'content')) kept[key] = value
  }
  return kept as Message // the same message with fewer optional fields
}

/** Returns the known fields of a message. The `name` of a function message is that of its function. */
function fieldsOf (role: Message['role'], names: Quirks['messageNames']): readonly string[] {
  const keepsName = names === 'all' || names === role || role === 'function'
  return keepsName ? knownFields[role] : knownFields[role].filter(field => field !== 'name')
}

/** Known fields of a tool call, and of its typed part. */
const callFields = {
  function: { call: ['id', 'type', 'function'], part: ['name', 'arguments'] },
  custom: { call: ['id', 'type', 'custom'], part: ['name', 'input'] }
} as const

/** Removes unknown fields from tool calls, and adds the type if it is missing: OpenAI requires it. */
function withWireCalls (message: AssistantMessage, { keepInHistory = [] }: Quirks): AssistantMessage {
  if (message.tool_calls?.some(call => !isWireCall(call, keepInHistory)) !== true) return message
  return {
    ...message,
    tool_calls: message.tool_calls.map(call =>
      isWireCall(call, keepInHistory) ? call : wireCall(call, keepInHistory)
    )
  }
}

function isWireCall (call: ToolCall, keepInHistory: readonly string[]): boolean {
  if (call.type === undefined) return false
  const fields = callFields[call.type]
  return hasOnly(call, fields.call, keepInHistory) && hasOnly(partOf(call), fields.part)
}

function wireCall (call: ToolCall, keepInHistory: readonly string[]): ToolCall {
  const { type = 'function' } = call
  const fields = callFields[type]
  // with fewer optional fields
  return {
    ...reduced(call, fields.call, keepInHistory),
    type,
    [type]: reduced(partOf(call), fields.part)
  } as ToolCall
}

function partOf (call: ToolCall): object {
  return call.type === 'custom' ? call.custom : call.function
}

function hasOnly (value: object, fields: readonly string[], more: readonly string[] = []): boolean {
  for (const key in value) {
    if (Reflect.get(value, key) === null || !(fields.includes(key) || more.includes(key))) return false
  }
  return true
}

function reduced (
  value: object,
  fields: readonly string[],
  more: readonly string[] = []
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([key, field]) => field !== null && (fields.includes(key) || more.includes(key))
    )
  )
}

/** Allows only web and inline images: self-hosted servers would open `file:` URLs. */
function checkImages (parts: readonly unknown[], message: number): void {
  for (const [index, part] of parts.entries()) {
    const url: unknown = Reflect.get(Object(Reflect.get(Object(part), 'image_url')), 'url')
    if (typeof url === 'string' && !/^(?:https?:\/\/|data:image\/)/i.test(url)) {
      throw new GatewayError('invalid_value', {
        message: 'An image must be an https: or http: URL, or a data: URL with an image media type.',
        param: `messages[${message}].content[${index}].image_url.url`
      })
    }
  }
}

/** Most servers fetch no files, and report an address as broken base64. */
function rejectFileUrls (parts: readonly UserPart[], message: number): void {
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'file' || !/^https?:\/\//i.test(part.file.file_data ?? '')) continue
    throw new GatewayError('unsupported_parameter', {
      message: 'This model does not fetch files. Send the file in base64.',
      param: `messages[${message}].content[${index}].file.file_data`
    })
  }
}

const plain = /^[A-Za-z0-9]+$/

/**
 * Rewrites ids of tool calls for servers that limit their length or characters. An id from another provider
 * is replaced by its digest, so that a call and its result still match.
 */
function withToolCallIds (
  message: Message,
  { toolCallIdLength: length, maxToolCallIdLength: max }: Quirks
): Message {
  const idOf = (id: string): string => {
    if (length !== undefined) return id.length === length && plain.test(id) ? id : digestOf(id, length)
    return max === undefined || id.length <= max ? id : `call_${digestOf(id, max - 5)}`
  }
  if (message.role === 'tool') {
    const id = idOf(message.tool_call_id)
    return id === message.tool_call_id ? message : { ...message, tool_call_id: id }
  }
  if (
    message.role !== 'assistant' ||
    message.tool_calls?.every(call => idOf(call.id) === call.id) !== false
  ) {
    return message
  }
  return { ...message, tool_calls: message.tool_calls.map(call => ({ ...call, id: idOf(call.id) })) }
}

function digestOf (id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length)
}
