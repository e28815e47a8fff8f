/**
 * A conversation in the provider's form: system prompt apart, user and assistant by turns, tool
 * results in front of the user turn that follows the calls.
 *
 * The server refuses a call without its result, a result without its call, and results anywhere
 * but there, in words about ids the caller never saw; so it is checked here, by the caller's names.
 */

import { GatewayError } from '../../core/errors.ts'
import { objectOf, textOf } from '../../json/guards.ts'
import { contentBlocks, shortest, textBlocks } from './content.ts'
import { functionCallId, toolUseId } from './tool-use-id.ts'
import type { AssistantMessage, Message } from '../../../schemas/messages.ts'
import type {
  AssistantBlock, ContentBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, UserBlock, WireMessage
} from './wire.ts'

export interface WireConversation {
  readonly system?: string | TextBlock[]
  readonly messages: WireMessage[]
}

/**
 * @throws GatewayError `invalid_value` for tool calls and results that do not belong together and
 *   for arguments that are no object; `unsupported_parameter` for content of another provider
 */
export function wireConversation (messages: readonly Message[]): WireConversation {
  const turns = new Turns()
  for (const [index, message] of messages.entries()) turns.add(message, `messages[${index}]`)
  return turns.end()
}

type Turn =
  | { readonly role: 'user', readonly blocks: UserBlock[] }
  | { readonly role: 'assistant', readonly blocks: AssistantBlock[] }

/** A call that waits for its result, in the order the calls were made. */
interface OpenCall {
  readonly id: string
  readonly param: string
  /** Set for deprecated calls, which are answered by name. */
  readonly functionName?: string
  result?: ToolResultBlock
}

class Turns {
  readonly #system: TextBlock[] = []
  readonly #turns: Turn[] = []
  #calls: OpenCall[] = []
  #said: ContentBlock[] = []
  #functionCalls = 0

  add (message: Message, param: string): void {
    switch (message.role) {
      case 'system':
      case 'developer':
        this.#system.push(...textBlocks(message.content))
        break
      case 'user':
        this.#said.push(...contentBlocks(message.content, `${param}.content`))
        break
      case 'assistant':
        this.#addAssistant(message, param)
        break
      case 'tool': {
        const id = toolUseId(message.tool_call_id)
        this.#answer(call => call.id === id, `${param}.tool_call_id`, contentBlocks(message.content, `${param}.content`))
        break
      }
      case 'function':
        this.#answer(call => call.functionName === message.name, `${param}.name`, textBlocks(message.content))
    }
  }

  end (): WireConversation {
    this.#endUserTurn()
    this.#checkAnswered()
    trimPrefill(this.#turns)
    const messages = this.#turns.map(wireMessage)
    if (messages.length === 0) {
      throw new GatewayError('invalid_value', { message: 'There is no message with content.', param: 'messages' })
    }
    return this.#system.length === 0 ? { messages } : { system: shortest(this.#system), messages }
  }

  #addAssistant (message: AssistantMessage, param: string): void {
    const said = textBlocks(message.content)
    if (said.length === 0) said.push(...textBlocks(message.refusal))
    const calls = [...toolUses(message, param), ...this.#functionUse(message, param)]
    // Thinking on its own, from an answer that was cut, may not stand in a conversation.
    if (said.length === 0 && calls.length === 0) return
    this.#endUserTurn()
    this.#assistantBlocks().push(...thinkingBlocks(message), ...said, ...calls.map(call => call.block))
    this.#calls.push(...calls.map(call => call.open))
  }

  #functionUse ({ function_call: call }: AssistantMessage, param: string): ToolUse[] {
    if (call === undefined || call === null) return []
    const use = toolUse(functionCallId(this.#functionCalls++), call, `${param}.function_call`)
    return [{ ...use, open: { ...use.open, functionName: call.name } }]
  }

  /** The last result for a call counts; of equal deprecated calls, the first without one is meant. */
  #answer (isCall: (call: OpenCall) => boolean, param: string, blocks: ContentBlock[]): void {
    const candidates = this.#calls.filter(isCall)
    const call = candidates.find(({ result }) => result === undefined) ?? candidates.at(-1)
    if (call === undefined) {
      throw new GatewayError('invalid_value', {
        message: 'This result belongs to no tool call of the assistant message before it.', param
      })
    }
    call.result = {
      type: 'tool_result', tool_use_id: call.id, ...(blocks.length === 0 ? {} : { content: shortest(blocks) })
    }
  }

  #endUserTurn (): void {
    if (this.#said.length === 0 && this.#calls.every(({ result }) => result === undefined)) return
    this.#checkAnswered()
    const results = this.#calls.flatMap(({ result }) => result === undefined ? [] : [result])
    this.#userBlocks().push(...results, ...this.#said)
    this.#calls = []
    this.#said = []
  }

  #checkAnswered (): void {
    const open = this.#calls.find(({ result }) => result === undefined)
    if (open === undefined) return
    throw new GatewayError('invalid_value', {
      message: 'Every tool call needs a tool message with its result right after it.', param: open.param
    })
  }

  /** The blocks of the turn under way: neighbours of one role are one message. */
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

interface ToolUse { readonly block: ToolUseBlock, readonly open: OpenCall }

function toolUses ({ tool_calls: calls }: AssistantMessage, param: string): ToolUse[] {
  return (calls ?? []).map((call, index) => {
    const place = `${param}.tool_calls[${index}]`
    if (call.type === 'custom') {
      throw new GatewayError('unsupported_parameter', {
        message: 'This provider knows function tools only.', param: `${place}.type`
      })
    }
    return toolUse(toolUseId(call.id), call.function, `${place}.function`, `${place}.id`)
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
    input = objectOf(JSON.parse(text))
  } catch (error) {
    cause = error
  }
  if (input !== undefined) return input
  throw new GatewayError('invalid_value', {
    message: 'The arguments of a tool call must be a JSON object.', param, cause
  })
}

/** Only what the server signed: it refuses thinking that somebody else could have written. */
function thinkingBlocks ({ thinking_blocks: blocks }: AssistantMessage): ThinkingBlock[] {
  return (blocks ?? []).flatMap((block): ThinkingBlock[] => {
    const signature = textOf(block['signature'])
    const data = textOf(block['data'])
    if (block['type'] === 'thinking' && signature !== undefined) {
      return [{ type: 'thinking', thinking: textOf(block['thinking']) ?? '', signature }]
    }
    return block['type'] === 'redacted_thinking' && data !== undefined ? [{ type: 'redacted_thinking', data }] : []
  })
}

/** A conversation that ends with the assistant is to be continued; white space at its end is refused. */
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
