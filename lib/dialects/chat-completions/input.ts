/**
 * Reads a chat request as one conversation. Checks the sizes of its lists, then merges `messages`, `input`,
 * `instructions`, `system` and `system_instruction`, and normalises aliases, tool results and tool choice.
 *
 * `instructions` replaces every other system prompt. Otherwise `system` comes first, and all system and
 * developer messages stay in place. `system_instruction` is only read without `system`.
 */

import { updateCall, type ValidCall } from '../../core/call.ts'
import { ValidationError } from '../../core/errors.ts'
import { isObject } from '../../json/type-guards.ts'
import { addedFields, withoutAddedFields } from '../../chat/added-fields.ts'
import { plainToolChoice } from '../../chat/plain-tool-choice.ts'
import { tooLong } from '../../validation/too-long.ts'
import { isSystem } from '../system-messages.ts'
import { hasTextResult, textResults, type TextResults } from './tool-results.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatSizes, DialectCall } from '../dialect.ts'
import type { ChatRequest } from '../../../schemas/chat.ts'
import type { ToolChoice } from '../../../schemas/tools.ts'
import type { CallerMessage, Message, SystemMessage, TextPart } from '../../../schemas/messages.ts'

/**
 * Creates a check that returns the call unchanged if its lists are within the limits.
 *
 * @throws ValidationError (422) with the list that is too long
 */
export function chatSizes ({
  chatMessages,
  chatParts,
  chatTools
}: ChatSizes): (call: ValidCall<ChatRequest>) => ValidCall<ChatRequest> {
  return call => {
    const { messages, input, tools = [], functions = [] } = call.request
    for (const [field, list] of [['messages', messages], ['input', input]] as const) {
      if (!Array.isArray(list)) continue
      if (list.length > chatMessages) throw tooLong([field], list.length, chatMessages)
      let parts = 0
      for (const [index, { content }] of list.entries()) {
        if (Array.isArray(content)) parts += content.length
        if (parts > chatParts) throw tooLong([field, index, 'content'], parts, chatParts)
      }
    }
    if (tools.length > chatTools) throw tooLong(['tools'], tools.length, chatTools)
    if (functions.length > chatTools) throw tooLong(['functions'], functions.length, chatTools)
    return call
  }
}

/** The request as the caller sent it. */
export interface ChatContext {
  readonly request: ChatRequest
}

/**
 * Adds the merged conversation to a chat call. Unchanged lists are not copied.
 *
 * @throws ValidationError without any conversation, or for a system prompt part without text
 */
export function chatInput (call: ValidCall<ChatRequest>): DialectCall<ChatContext> {
  const { request } = call
  return updateCall(call, {
    request: isOneConversation(request) ? request : oneConversation(request),
    context: { request }
  })
}

/** Fields that make a request something else than a `ChatInput`. */
const mergedFields = [
  'input',
  'instructions',
  'system',
  'system_instruction',
  'stop_sequences',
  'tool_choice',
  'auto_execute_tools',
  'cachedContent',
  ...addedFields
] as const

/** Returns true if the request already is a `ChatInput`, as most are. */
function isOneConversation (request: ChatRequest): request is ChatRequest & ChatInput {
  for (const name of mergedFields) if (Reflect.get(request, name) !== undefined) return false
  const { messages, service_tier: tier, audio, modalities } = request
  return (
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every(hasTextResult) &&
    tier !== 'fast' &&
    (audio === undefined || modalities?.includes('audio') === true)
  )
}

function oneConversation (given: ChatRequest): ChatInput {
  const {
    messages, input, instructions, system, system_instruction: systemInstruction,
    stop_sequences: stopSequences, auto_execute_tools: autoExecute, cachedContent, service_tier: tier, ...rest
  } = withoutAddedFields(given)

  const ofMessages = conversationOf(messages)
  const conversation = ofMessages ?? conversationOf(input)
  const replacement = systemMessage(instructions, 'instructions')
  if (conversation === undefined && replacement === undefined) throw noMessages(messages)

  const own = replacement === undefined ? systemMessage(system, 'system') : undefined
  const request: { -readonly [K in keyof ChatInput]: ChatInput[K] } = {
    messages: replacement === undefined
      ? withSystemPrompt(own ?? fromGoogle(systemInstruction), conversation?.messages ?? [])
      : [replacement, ...(conversation?.messages ?? []).filter(message => !isSystem(message))],
    ...rest
  }
  if (request.messages !== messages) {
    const field = ofMessages === undefined ? 'input' : 'messages'
    const isText = ofMessages === undefined && typeof input === 'string'
    const places = new Map<object, string>()
    for (const [index, message] of (conversation?.given ?? []).entries()) {
      places.set(message, isText ? field : `${field}[${index}]`)
    }
    const [first] = request.messages
    if (first?.role === 'system' && !places.has(first)) {
      places.set(
        first,
        replacement !== undefined ? 'instructions' : own !== undefined ? 'system' : 'system_instruction'
      )
    }
    request.originalInput = { field, places }
  }
  // `audio` alone does not request audio output.
  if (rest.audio !== undefined && rest.modalities?.includes('audio') !== true) delete request.audio
  if (rest.stop === undefined && stopSequences !== undefined) request.stop = stopSequences
  // A server tool can only be looked up after the servers have listed their tools.
  if (rest.tool_choice !== undefined && !(rest.mcp_servers !== undefined && namesServer(rest.tool_choice))) {
    const { choice, parallel } = plainToolChoice(rest.tool_choice)
    request.tool_choice = choice
    if (parallel === false) request.parallel_tool_calls = false
  }
  if (autoExecute === false) request.automatic_tool_execution = false
  if (tier !== undefined) request.service_tier = tier === 'fast' ? 'priority' : tier
  if (rest.cached_content === undefined && cachedContent !== undefined) request.cached_content = cachedContent
  return request
}

/** An empty list counts as absent: official clients send one next to `input`. */
function conversationOf (given: string | readonly CallerMessage[] | undefined): TextResults | undefined {
  if (typeof given === 'string') return textResults([{ role: 'user', content: given }])
  return given === undefined || given.length === 0 ? undefined : textResults(given)
}

function withSystemPrompt (
  systemPrompt: SystemMessage | undefined, conversation: readonly Message[]
): readonly Message[] {
  return systemPrompt === undefined ? conversation : [systemPrompt, ...conversation]
}

function namesServer (choice: ToolChoice): boolean {
  return typeof choice === 'object' && 'server_label' in choice
}

type Block = string | Record<string, unknown>

/** Returns the system message from a field, if it is not empty. */
function systemMessage (given: string | Block[] | undefined, field: string): SystemMessage | undefined {
  if (given === undefined || given.length === 0) return undefined
  if (typeof given === 'string') return { role: 'system', content: given }
  const content = given.flatMap((block, index) => {
    return textParts(block) ?? nestedParts(block) ?? refuse(field, index, block)
  })
  return content.length === 0 ? undefined : { role: 'system', content }
}

/** Reads `{ parts: [{ text }] }`, the format of Google's API; ignores any other object. */
function fromGoogle (given: ChatRequest['system_instruction']): SystemMessage | undefined {
  if (given === undefined || typeof given === 'string') return systemMessage(given, 'system_instruction')
  const parts: unknown = given['parts']
  return Array.isArray(parts) ? systemMessage(parts, 'system_instruction') : undefined
}

/** Reads a string or an object with `text`; other keys, such as `cache_control`, are kept. */
function textParts (block: unknown): TextPart[] | undefined {
  if (typeof block === 'string') return [{ type: 'text', text: block }]
  if (!isObject(block) || typeof block['text'] !== 'string') return undefined
  return [{ ...block, type: 'text', text: block['text'] }]
}

/** Reads the `content` of a message in place of a block, one level deep. */
function nestedParts (block: unknown): TextPart[] | undefined {
  if (!isObject(block)) return undefined
  const { content } = block
  if (!Array.isArray(content)) return textParts(content)
  const parts = content.map(textParts)
  return parts.includes(undefined) ? undefined : parts.flatMap(part => part ?? [])
}

/** Rejects an unreadable part: dropping it could invert the meaning of a system prompt. */
function refuse (field: string, index: number, block: unknown): never {
  throw new ValidationError([{
    loc: ['body', field, index],
    msg: 'Value error, expected a text block',
    type: 'value_error',
    ...typeof block !== 'object' && { input: block }
  }])
}

function noMessages (messages: ChatRequest['messages']): ValidationError {
  return new ValidationError([Array.isArray(messages)
    ? {
        loc: ['body', 'messages'],
        msg: 'List should have at least 1 item after validation, not 0',
        type: 'too_short',
        ctx: { field_type: 'List', min_length: 1, actual_length: 0 }
      }
    : { loc: ['body', 'messages'], msg: 'Field required', type: 'missing' }])
}
