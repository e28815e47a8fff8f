/**
 * The marks (`cache_control`) up to which a provider caches a prompt.
 *
 * `markPrompt` adds them to what a prompt shares with the next call of its session: the tools, the system
 * prompt, and the conversation up to its last two user messages. A cache write costs more than one uncached
 * read, so marking starts with the second call of a conversation.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */

import { charactersPerToken } from '../core/usage.ts'
import { hasMember, isContainer, isObject } from '../json/type-guards.ts'
import type { Message } from '../../schemas/messages.ts'
import type { ChatInput } from './input.ts'

/** The parts of an Anthropic request that may be marked, in caching order. */
export interface MarkablePrompt {
  readonly tools?: readonly object[] | undefined
  readonly system?: string | readonly object[] | undefined
  readonly messages: ReadonlyArray<{ readonly role: string, readonly content: string | readonly object[] }>
}

const mark = { cache_control: { type: 'ephemeral' } } as const

/** Blocks of user messages that may be marked. */
const markedBlocks: ReadonlySet<unknown> = new Set([
  'text', 'image', 'document', 'tool_result', 'search_result'
])

/**
 * Returns the request with at most four marks and with its tools sorted by name. Returns the same object for
 * the first call of a conversation and for a prompt that the caller has marked. Unchanged parts keep their
 * identity.
 *
 * @param minTokens length of the shortest prefix that the model caches
 */
export function markPrompt<P extends MarkablePrompt> (prompt: P, minTokens: number): P {
  const { tools = [], system = [], messages } = prompt
  const last = messages.findLastIndex(isOfUser)
  const earlier = messages.slice(0, Math.max(0, last))
  const before = earlier.findLastIndex(isOfUser)
  if (!earlier.some(({ role }) => role === 'assistant') || hasMember(prompt, 'cache_control')) return prompt
  const size = new PromptSize(minTokens * charactersPerToken)
  const ordered = sortedByName(tools)
  const marked: { -readonly [F in keyof MarkablePrompt]: MarkablePrompt[F] } = { messages }
  if (size.reachedWith(tools)) marked.tools = markLast(ordered, tool => !('defer_loading' in tool))
  else if (ordered !== tools) marked.tools = ordered
  if (size.reachedWith(system) && system.length > 0) marked.system = markContent(system)
  if (!size.reachedWith(messages)) return { ...prompt, ...marked }
  marked.messages = messages.map((message, index) =>
    index === last || index === before ? { ...message, content: markContent(message.content) } : message
  )
  return { ...prompt, ...marked } // the same fields plus marks
}

function isOfUser ({ role }: { readonly role: string }): boolean {
  return role === 'user'
}

/** Tool servers list tools in any order, and another order would miss the cache. */
function sortedByName (tools: readonly object[]): readonly object[] {
  const sorted = tools.toSorted((a, b) => compare(toolName(a), toolName(b)))
  return sorted.every((tool, index) => tool === tools[index]) ? tools : sorted
}

function toolName (tool: object): string {
  return String(Reflect.get(tool, 'name') ?? Reflect.get(tool, 'mcp_server_name') ?? '')
}

function compare (a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function markContent (content: string | readonly object[]): string | readonly object[] {
  if (typeof content !== 'string') return markLast(content, isMarkable)
  return content === '' ? content : [{ type: 'text', text: content, ...mark }]
}

/** Empty text and thinking must not be marked. */
function isMarkable (block: object): boolean {
  return markedBlocks.has(Reflect.get(block, 'type')) && Reflect.get(block, 'text') !== ''
}

function markLast (parts: readonly object[], may: (part: object) => boolean): readonly object[] {
  const last = parts.findLastIndex(may)
  return parts.map((part, index) => index === last ? { ...part, ...mark } : part)
}

/**
 * Returns a request without marks, for providers that refuse unknown fields. Whatever has no mark keeps its
 * identity, the request included.
 */
export function withoutMarks (request: ChatInput): ChatInput {
  const { messages, tools, originalInput } = request
  const isMarked = messages.some(message =>
    (Array.isArray(message.content) && message.content.some(hasMark)) || callsOf(message).some(hasMark)
  )
  if (!isMarked && tools?.some(tool => hasMark(tool) || hasMark(functionOf(tool))) !== true) return request
  return {
    ...request,
    messages: messages.map(messageWithoutMarks),
    ...tools !== undefined && { tools: tools.map(toolWithoutMark) },
    ...originalInput !== undefined && { originalInput: { positions: request, ...originalInput } }
  }
}

function hasMark (part: object | undefined): boolean {
  return part !== undefined && 'cache_control' in part
}

function functionOf (tool: object): object | undefined {
  return 'function' in tool && isObject(tool.function) ? tool.function : undefined
}

function callsOf (message: Message): readonly object[] {
  return message.role === 'assistant' ? message.tool_calls ?? [] : []
}

function withoutCallMarks (message: Message): Message {
  if (message.role !== 'assistant' || message.tool_calls?.some(hasMark) !== true) return message
  return { ...message, tool_calls: message.tool_calls.map(withoutMark) }
}

function messageWithoutMarks (marked: Message): Message {
  const message = withoutCallMarks(marked)
  const { content } = message
  if (!Array.isArray(content) || !content.some(hasMark)) return message
  const [part] = content
  // Most servers accept only a text as the result of a tool.
  if (message.role === 'tool' && content.length === 1 && part?.type === 'text') {
    return { ...message, content: part.text }
  }
  // The same parts of the same message.
  return { ...message, content: content.map(withoutMark) } as Message
}

function toolWithoutMark<T extends object> (tool: T): T {
  const unmarked = withoutMark(tool)
  const called = functionOf(unmarked)
  // The same tool.
  return hasMark(called) ? { ...unmarked, function: withoutMark(called ?? {}) } : unmarked
}

function withoutMark<P extends object> (part: P): P {
  if (!('cache_control' in part)) return part
  const { cache_control: _, ...rest } = part
  return rest as P // a field missing from the schema
}

/** Adds up the characters of a prompt until it is long enough. */
class PromptSize {
  #missing: number

  constructor (minCharacters: number) {
    this.#missing = minCharacters
  }

  /** Adds a part. @returns true once the prompt so far is long enough */
  reachedWith (value: unknown): boolean {
    if (this.#missing <= 0) return true
    if (typeof value === 'string') this.#missing -= value.length
    else if (isContainer(value)) {
      for (const name in value) {
        if (!Array.isArray(value)) this.#missing -= name.length
        if (this.reachedWith(Reflect.get(value, name))) return true
      }
    }
    return this.#missing <= 0
  }
}
