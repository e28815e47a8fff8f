/**
 * Converts a conversation to the provider's format: separate system prompt, alternating user and assistant
 * turns, tool results first in the user turn after the calls.
 *
 * The server rejects calls without results, results without calls, and misplaced results, and its errors
 * quote ids that the caller never saw. These errors are therefore detected here and reported with the
 * caller's names.
 */

import { toReasoningItem } from '../../chat/reasoning-item.ts'
import { answerParts, inTurnOrder } from '../../chat/turn-order.ts'
import { GatewayError } from '../../core/errors.ts'
import { objectOf, nonEmptyText, type JsonObject } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { shorten } from '../../text/shorten.ts'
import { cacheControlOf } from './cache-control.ts'
import { contentBlocks, shortest, textBlocks } from './content.ts'
import { functionCallId, toolCallIdOf, UniqueIds } from './tool-call-id.ts'
import type { Quirks } from '../../core/provider-traits.ts'
import type { AssistantMessage, Message } from '../../../schemas/messages.ts'
import type {
  AssistantBlock,
  ContentBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
  UserBlock,
  WireMessage
} from './wire.ts'

export interface WireConversation {
  readonly system?: string | TextBlock[]
  readonly messages: WireMessage[]
}

/**
 * @throws GatewayError `invalid_value` for tool calls and results that do not match, and for arguments that
 *   are not an object; `unsupported_parameter` for content of another provider
 */
export function wireConversation (
  messages: readonly Message[],
  { unsignedThinking = false }: Quirks = {}
): WireConversation {
  const turns = new Turns(unsignedThinking)
  for (const [index, message] of messages.entries()) turns.add(message, `messages[${index}]`)
  return turns.end()
}

type Turn =
  | { readonly role: 'user', readonly blocks: UserBlock[] }
  | { readonly role: 'assistant', readonly blocks: AssistantBlock[] }

/** A call that waits for its result. */
interface UnansweredToolCall {
  readonly id: string
  readonly sentId?: string
  readonly param: string
  /** Set for deprecated calls, whose results name the function. */
  readonly functionName?: string
  result?: ToolResultBlock
}

/** The calls of one turn in order, indexed by id or function name. */
class UnansweredToolCalls {
  readonly list: UnansweredToolCall[] = []
  readonly #byId = new Map<string, SameCalls>()
  readonly #byName = new Map<string, SameCalls>()
  /** Number of calls with a result. */
  results = 0

  /** @param sentId unique id that is sent upstream: some servers reuse ids in every answer */
  add (open: UnansweredToolCall, sentId: string): void {
    const call = { ...open, sentId }
    this.list.push(call)
    addTo(this.#byId, call.id, call)
    if (call.functionName !== undefined) addTo(this.#byName, call.functionName, call)
  }

  /**
   * Sets the result of a call; a later result replaces an earlier one. Among equal calls, takes the first
   * without a result.
   */
  answer (by: ResultKey, content: ToolResultBlock['content']): boolean {
    const same = 'id' in by ? this.#byId.get(by.id) : this.#byName.get(by.name)
    const call = same?.calls[same.next]
    if (same === undefined || call === undefined) return false
    if (call.result === undefined) this.results++
    call.result = {
      type: 'tool_result',
      tool_use_id: call.sentId ?? call.id,
      ...content !== undefined && { content }
    }
    if (same.next < same.calls.length - 1) same.next++
    return true
  }
}

/** Identifies the call of a result. */
type ResultKey = { readonly id: string } | { readonly name: string }

/** Calls with the same id or name; `next` is the index of the call that gets the next result. */
interface SameCalls { readonly calls: UnansweredToolCall[], next: number }

function addTo (calls: Map<string, SameCalls>, key: string, call: UnansweredToolCall): void {
  const same = calls.get(key)
  if (same === undefined) calls.set(key, { calls: [call], next: 0 })
  else same.calls.push(call)
}

class Turns {
  readonly #unsignedThinking: boolean
  readonly #ids = new UniqueIds()
  readonly #system: TextBlock[] = []
  readonly #turns: Turn[] = []
  #calls = new UnansweredToolCalls()
  #userContent: ContentBlock[] = []
  #functionCalls = 0

  constructor (unsignedThinking: boolean) {
    this.#unsignedThinking = unsignedThinking
  }

  add (message: Message, param: string): void {
    switch (message.role) {
      case 'system':
      case 'developer':
        append(this.#system, textBlocks(message.content))
        break
      case 'user':
        append(this.#userContent, contentBlocks(message.content, `${param}.content`))
        break
      case 'assistant':
        this.#addAssistant(message, param)
        break
      case 'tool':
        this.#answer(
          { id: toolCallIdOf(message.tool_call_id) },
          `${param}.tool_call_id`,
          contentBlocks(message.content, `${param}.content`)
        )
        break
      case 'function':
        this.#answer({ name: message.name }, `${param}.name`, textBlocks(message.content))
    }
  }

  end (): WireConversation {
    this.#endUserTurn()
    this.#checkResults()
    trimPrefill(this.#turns)
    const messages = this.#turns.map(wireMessage)
    if (messages.length === 0 && this.#system.length > 0) {
      return { messages: [{ role: 'user', content: shortest(this.#system) }] }
    }
    if (messages.length === 0) {
      throw new GatewayError('invalid_value', {
        message: 'At least one message must have content.',
        param: 'messages'
      })
    }
    return this.#system.length === 0 ? { messages } : { system: shortest(this.#system), messages }
  }

  #addAssistant (message: AssistantMessage, param: string): void {
    const said = answerParts(message.content).map(part => textBlocks([part]))
    if (said.flat().length === 0) said.push(textBlocks(message.refusal))
    const calls = [...toolUses(message, param), ...this.#functionUse(message, param)]
    // An assistant turn must not consist of thinking alone, as after a truncated answer.
    if (said.flat().length === 0 && calls.length === 0) return
    this.#endUserTurn()
    const blocks = this.#assistantBlocks()
    append(blocks, inTurnOrder<AssistantBlock>(message, {
      thinking: (message.thinking_blocks ?? []).map(block => thinkingBlocks(block, this.#unsignedThinking)),
      text: said,
      call: calls.map(({ block, open }) => {
        const id = this.#ids.unique(block.id)
        this.#calls.add(open, id)
        return [{ ...block, id }]
      })
    }))
  }

  #functionUse ({ function_call: call }: AssistantMessage, param: string): ToolUse[] {
    if (call === undefined || call === null) return []
    const use = toolUse(functionCallId(this.#functionCalls++), call, `${param}.function_call`)
    return [{ ...use, open: { ...use.open, functionName: call.name } }]
  }

  #answer (by: ResultKey, param: string, blocks: ContentBlock[]): void {
    if (this.#calls.answer(by, blocks.length === 0 ? undefined : shortest(blocks))) return
    throw new GatewayError('invalid_value', {
      message: 'A tool message must respond to a tool call of the assistant message before it.', param
    })
  }

  #endUserTurn (): void {
    if (this.#userContent.length === 0 && this.#calls.results === 0) return
    this.#checkResults()
    const blocks = this.#userBlocks()
    for (const { result } of this.#calls.list) {
      if (result !== undefined) blocks.push(result)
    }
    append(blocks, this.#userContent)
    this.#calls = new UnansweredToolCalls()
    this.#userContent = []
  }

  #checkResults (): void {
    if (this.#calls.results === this.#calls.list.length) return
    const open = this.#calls.list.find(({ result }) => result === undefined)
    const name = shorten(open?.functionName ?? open?.id ?? '')
    throw new GatewayError('invalid_value', {
      message: `Every tool call needs a tool message with its result right after it; \`${name}\` has none.`,
      param: open?.param
    })
  }

  /** Returns the blocks of the current user turn: consecutive messages of one role are merged. */
  #userBlocks (): UserBlock[] {
    const last = this.#turns.at(-1)
    if (last?.role === 'user') return last.blocks
    const blocks: UserBlock[] = []
    this.#turns.push({ role: 'user', blocks })
    return blocks
  }

  #assistantBlocks (): AssistantBlock[] {
    const last = this.#turns.at(-1)
    if (last?.role === 'assistant') return last.blocks
    const blocks: AssistantBlock[] = []
    this.#turns.push({ role: 'assistant', blocks })
    return blocks
  }
}

/** Avoids a spread into `push`, which overflows the stack for a hundred thousand blocks. */
function append<B> (to: B[], blocks: readonly B[]): void {
  for (const block of blocks) to.push(block)
}

interface ToolUse { readonly block: ToolUseBlock, readonly open: UnansweredToolCall }

function toolUses ({ tool_calls: calls }: AssistantMessage, param: string): ToolUse[] {
  return (calls ?? []).map((call, index) => {
    const callParam = `${param}.tool_calls[${index}]`
    if (call.type === 'custom') {
      throw new GatewayError('unsupported_parameter', {
        message: 'Only function tools are supported.', param: `${callParam}.type`
      })
    }
    const use = toolUse(toolCallIdOf(call.id), call.function, `${callParam}.function`, `${callParam}.id`)
    const mark = cacheControlOf(call)
    return mark === undefined ? use : { ...use, block: { ...use.block, cache_control: mark } }
  })
}

function toolUse (
  id: string, { name, arguments: text }: { name: string, arguments: string }, param: string, idParam = param
): ToolUse {
  return {
    block: { type: 'tool_use', id, name, input: inputOf(text, `${param}.arguments`) },
    open: { id, param: idParam }
  }
}

function inputOf (text: string, param: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  let input: Record<string, unknown> | undefined
  let cause: unknown
  try {
    input = objectOf(parseBounded(text))
  } catch (error) {
    cause = error
  }
  if (input !== undefined) return input
  throw new GatewayError('invalid_value', {
    message: 'The arguments of a tool call must be a JSON object.', param, cause
  })
}

/** Returns signed thinking only: the server rejects other thinking, unless it signs none. */
function thinkingBlocks (block: JsonObject, takesUnsigned: boolean): ThinkingBlock[] {
  if (toReasoningItem(block) !== undefined) return []
  const signature = nonEmptyText(block['signature']) ?? (takesUnsigned ? '' : undefined)
  const data = nonEmptyText(block['data'])
  if (block['type'] === 'thinking' && signature !== undefined) {
    return [{ type: 'thinking', thinking: nonEmptyText(block['thinking']) ?? '', signature }]
  }
  return block['type'] === 'redacted_thinking' && data !== undefined
    ? [{ type: 'redacted_thinking', data }]
    : []
}

/** The server continues a final assistant message, but rejects trailing white space in it. */
function trimPrefill (turns: Turn[]): void {
  const turn = turns.at(-1)
  const last = turn?.role === 'assistant' ? turn.blocks.at(-1) : undefined
  if (turn === undefined || last?.type !== 'text') return
  turn.blocks.pop()
  const text = last.text.trimEnd()
  if (text !== '') turn.blocks.push({ ...last, text })
  else if (turn.blocks.length === 0) turns.pop()
}

function wireMessage (turn: Turn): WireMessage {
  return turn.role === 'user'
    ? { role: 'user', content: shortest(turn.blocks) }
    : { role: 'assistant', content: shortest(turn.blocks) }
}
