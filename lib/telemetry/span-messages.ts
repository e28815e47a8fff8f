/**
 * Converts requests and answers of any dialect to messages of OpenTelemetry's generative AI conventions.
 * Media are replaced by their type.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */

import {
  isList,
  isObject,
  nonEmptyText,
  objectOf,
  objectsOf,
  textOfValue,
  type JsonObject
} from '../json/type-guards.ts'
import { cutText } from '../bodies/print-body.ts'

/** `text`, `reasoning`, `tool_call`, `tool_call_response`, or the type of omitted media. */
export interface Part {
  readonly type: string
  readonly content?: string
  readonly id?: string
  readonly name?: string
  readonly arguments?: unknown
  readonly response?: unknown
}

export interface Message {
  readonly role: string
  readonly parts: readonly Part[]
  /** Only in answers. */
  readonly finish_reason?: string
}

/** Returns the messages of a request, and its separate instructions. */
export function requestMessages (body: unknown): { readonly system: Part[], readonly input: Message[] } {
  if (!isObject(body)) return { system: [], input: userMessage(body) }
  const { messages, input, prompt, system, instructions } = body
  return {
    system: partsOf(system ?? instructions),
    input: isList(messages) ? objectsOf(messages).map(messageOf) : inputMessages(input ?? prompt)
  }
}

/** Returns the messages of an answer, one per choice; none for an answer without text. */
export function answerMessages (body: unknown): Message[] {
  if (isList(body)) return streamedMessages(objectsOf(body))
  if (!isObject(body)) return typeof body === 'string' ? [{ role: 'assistant', parts: partsOf(body) }] : []
  const { choices, output, content, role, stop_reason: stopReason, status } = body
  if (isList(choices)) return joinedChoices(objectsOf(choices))
  if (isList(output)) {
    const parts = objectsOf(output).flatMap(item => inputMessage(item).parts)
    return [{ role: 'assistant', parts, ...finish(status) }]
  }
  return isList(content) && role === 'assistant'
    ? [{ role, parts: partsOf(content), ...finish(stopReason) }]
    : []
}

/** Streamed text completions send a choice in pieces. */
function joinedChoices (pieces: readonly JsonObject[]): Message[] {
  const choices = new Map<unknown, Message>()
  for (const piece of pieces) {
    const { role, parts, ...end } = choiceOf(piece)
    const before = choices.get(piece['index'])
    choices.set(piece['index'], { role, parts: [...before?.parts ?? [], ...parts], ...end })
  }
  return [...choices.values()]
}

function choiceOf ({ message, text, finish_reason: reason }: JsonObject): Message {
  const { parts } = isObject(message) ? messageOf(message) : { parts: partsOf(text) }
  return { role: 'assistant', parts, ...finish(reason) }
}

function finish (reason: unknown): Pick<Message, 'finish_reason'> {
  return typeof reason === 'string' ? { finish_reason: reason } : {}
}

/** Converts a chat completions or Messages message. */
function messageOf (message: JsonObject): Message {
  const { content, reasoning_content: reasoning, tool_calls: calls, tool_call_id: id } = message
  const role = nonEmptyText(message['role']) ?? 'user'
  if (role === 'tool') {
    return { role, parts: [{ type: 'tool_call_response', ...idOf(id), response: content }] }
  }
  return {
    role,
    parts: [
      ...nonEmptyText(reasoning) === undefined ? [] : [thought({ text: reasoning })],
      ...partsOf(content),
      ...objectsOf(calls).map(call => toolCall(call['id'], objectOf(call['function']) ?? {}))
    ]
  }
}

function toolCall (id: unknown, { name, arguments: given }: JsonObject): Part {
  return { type: 'tool_call', ...idOf(id), ...typeof name === 'string' && { name }, arguments: given }
}

function idOf (id: unknown): Pick<Part, 'id'> {
  return typeof id === 'string' ? { id } : {}
}

function userMessage (content: unknown): Message[] {
  const parts = partsOf(content)
  return parts.length === 0 ? [] : [{ role: 'user', parts }]
}

/** Converts the input of Responses, embeddings and other requests with a single text. */
function inputMessages (input: unknown): Message[] {
  return isList(input) && input.some(isObject) ? objectsOf(input).map(inputMessage) : userMessage(input)
}

/** Converts an input or output item of Responses. */
function inputMessage (item: JsonObject): Message {
  switch (item['type']) {
    case 'function_call':
      return { role: 'assistant', parts: [toolCall(item['call_id'], item)] }
    case 'function_call_output':
      return {
        role: 'tool',
        parts: [{ type: 'tool_call_response', ...idOf(item['call_id']), response: item['output'] }]
      }
    case 'reasoning':
      return {
        role: 'assistant',
        parts: [...objectsOf(item['summary']), ...objectsOf(item['content'])].map(thought)
      }
    default:
      return item['role'] === undefined && item['content'] === undefined
        ? { role: 'assistant', parts: [partOf(item)] }
        : messageOf(item)
  }
}

function thought ({ text }: JsonObject): Part {
  return { type: 'reasoning', content: textOfValue(text) }
}

function partsOf (content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', content }]
  if (isList(content)) return content.flatMap(part => isObject(part) ? partOf(part) : partsOf(part))
  return isObject(content) ? [partOf(content)] : []
}

function partOf (part: JsonObject): Part {
  const { type, text, refusal, thinking, id, name, input, tool_use_id: callId, content } = part
  switch (type) {
    case 'tool_use':
      return toolCall(id, { name, arguments: input })
    case 'tool_result':
      return { type: 'tool_call_response', ...idOf(callId), response: content }
    case 'thinking':
      return { type: 'reasoning', content: textOfValue(thinking) }
    default: {
      const words = nonEmptyText(text) ?? nonEmptyText(refusal)
      return words === undefined ? { type: textOfValue(type) } : { type: 'text', content: words }
    }
  }
}

/** Fields of content blocks that deltas extend, by type of delta. */
const continued: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json']
])

/** Combines stream events whose deltas are already joined into messages. */
function streamedMessages (events: readonly JsonObject[]): Message[] {
  const pieces = events.flatMap(({ choices }) => objectsOf(choices))
  if (pieces.length > 0) return joinedChoices(pieces)
  const blocks = new Map<unknown, JsonObject>()
  let reason: unknown
  for (const { type, index, content_block: block, delta, item_id: item } of events) {
    if (type === 'content_block_start' && isObject(block)) blocks.set(index, { ...block })
    // For a response that did not complete; a completed one has the full text.
    if (type === 'response.output_text.delta') blocks.set(item, { type: 'text', text: delta })
    if (!isObject(delta)) continue
    reason ??= delta['stop_reason']
    const [field, open] = [continued.get(delta['type']), blocks.get(index)]
    if (field === undefined || open === undefined) continue
    const target = field === 'partial_json' ? 'input' : field
    open[target] = `${typeof open[target] === 'string' ? open[target] : ''}${textOfValue(delta[field])}`
  }
  const parts = [...blocks.values()].map(partOf)
  return parts.length === 0 ? [] : [{ role: 'assistant', parts, ...finish(reason) }]
}

/** Returns the messages that fit in `maxBytes` of JSON. The last text is truncated; the JSON stays valid. */
export function cutMessages (
  messages: readonly Message[],
  maxBytes: number
): { readonly messages: readonly Message[], readonly isCut: boolean } {
  if (bytesOf(messages) <= maxBytes) return { messages, isCut: false }
  const kept: Message[] = []
  let room = maxBytes
  for (const message of messages) {
    const parts: Part[] = []
    room -= bytesOf({ ...message, parts })
    if (room < 0) return { messages: kept, isCut: true }
    kept.push({ ...message, parts })
    for (const part of message.parts) {
      const bytes = bytesOf(part)
      if (bytes > room) {
        const { content } = part
        if (content !== undefined) parts.push({ ...part, content: cutText(content, room) })
        return { messages: kept, isCut: true }
      }
      parts.push(part)
      room -= bytes
    }
  }
  return { messages: kept, isCut: false }
}

function bytesOf (value: readonly Message[] | Message | Part): number {
  return Buffer.byteLength(JSON.stringify(value))
}
