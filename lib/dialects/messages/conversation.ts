/**
 * Converts the messages of a request to chat messages. System prompts stay in place. Tool results directly
 * follow the calls, and images in results come after all of them, because most providers only accept text in
 * a result.
 */

import { addReasoningDetails } from '../../chat/reasoning-details.ts'
import { hasTurnOrder, TurnOrder } from '../../chat/turn-order.ts'
import { property, type JsonObject } from '../../json/type-guards.ts'
import { toolResultText } from '../tool-result-text.ts'
import { isPacked, unpackFields } from '../../json/packed-fields.ts'
import { marked, otherText, partsOf, textPart, type Refuse } from './content.ts'
import { providerToolId } from './tool-call-id.ts'
import { shortToolName } from './tool-name.ts'
import type { AssistantMessage, Message, TextPart, ToolCall, UserPart } from '../../../schemas/messages.ts'
import type {
  MessagesBlock,
  MessagesMessage,
  MessagesResultBlock,
  MessagesTextBlock,
  MessagesToolResultBlock
} from '../../../schemas/messages-request.ts'

/**
 * Prefix of Claude Code's first system block, which names a version. Some versions change it every turn,
 * which would invalidate the cache.
 */
const billingLine = 'x-anthropic-billing-header:'

/**
 * Converts the messages of a request to chat messages.
 *
 * @param places receives where messages, parts and calls came from
 */
export function conversationOf (
  system: string | readonly MessagesTextBlock[] | undefined,
  messages: readonly MessagesMessage[],
  refuse: Refuse,
  places: Map<object, string> = new Map()
): Message[] {
  const reader = new ConversationReader(refuse, places)
  reader.addSystem(blocksOf(system ?? []), 'system')
  for (const [index, { role, content }] of messages.entries()) {
    reader.add(role, content, `messages[${index}]`)
  }
  return reader.end()
}

function blocksOf<B extends MessagesBlock> (
  content: string | readonly B[]
): ReadonlyArray<B | MessagesTextBlock> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Returns the place of a block by its index. */
type BlockPlace = (index: number) => string

/** An assistant message under construction. */
interface Turn {
  readonly order: TurnOrder
  readonly content: TextPart[]
  readonly thinking: Array<Record<string, unknown>>
  readonly calls: ToolCall[]
  readonly details: JsonObject[]
  reasoning: string
  readonly place: string
  /** Fields that belong to the next call. */
  callFields: Readonly<Record<string, unknown>> | undefined
}

/**
 * Merges adjacent messages of one role, as Anthropic does: results of parallel calls may come in separate
 * messages.
 */
class ConversationReader {
  readonly #messages: Message[] = []
  readonly #refuse: Refuse
  readonly #places: Map<object, string>
  #turn: Turn | undefined
  /** User parts so far: images and files of results, and user content. */
  #shown: UserPart[] = []
  #said: UserPart[] = []
  /** Where the first user part came from. */
  #userPlace: string | undefined
  /** System messages between calls and their results. */
  #waiting: Message[] = []
  /** Calls whose results are missing. */
  readonly #openCalls = new Set<string>()

  constructor (refuse: Refuse, places: Map<object, string>) {
    this.#refuse = refuse
    this.#places = places
  }

  add (role: MessagesMessage['role'], content: MessagesMessage['content'], place: string): void {
    const blocks = blocksOf(content)
    const blockPlace: BlockPlace = index =>
      typeof content === 'string' ? `${place}.content` : `${place}.content[${index}]`
    switch (role) {
      case 'system': return this.addSystem(blocks, place)
      case 'user': return this.#addUser(blocks, place, blockPlace)
      case 'assistant': return this.#addAssistant(blocks, place, blockPlace)
    }
  }

  addSystem (blocks: readonly MessagesBlock[], place: string): void {
    const content = blocks.flatMap(block => {
      if (block.type !== 'text') return block.type === '*' ? otherText(block) : []
      return block.text.startsWith(billingLine) ? [] : textPart(block)
    })
    if (content.length === 0) return
    this.#endTurn()
    if (this.#openCalls.size === 0) this.#endUser()
    const list = this.#openCalls.size === 0 ? this.#messages : this.#waiting
    list.push(this.#placed({ role: 'system', content: shortest(content) }, place))
  }

  end (): Message[] {
    this.#endTurn()
    this.#endUser()
    return this.#messages
  }

  #placed<T extends object> (object: T, place: string): T {
    this.#places.set(object, place)
    return object
  }

  #parts (block: MessagesBlock | MessagesResultBlock, place: string): UserPart[] {
    const parts = partsOf(block, place, this.#refuse)
    for (const part of parts) this.#places.set(part, place)
    return parts
  }

  #addUser (blocks: readonly MessagesBlock[], place: string, blockPlace: BlockPlace): void {
    this.#endTurn()
    this.#userPlace ??= place
    let hasResult = false
    for (const [index, block] of blocks.entries()) {
      if (block.type === 'tool_result') {
        hasResult = true
        this.#addResult(block, blockPlace(index))
      } else {
        for (const part of this.#parts(block, blockPlace(index))) this.#said.push(part)
      }
    }
    if (!hasResult) this.#openCalls.clear()
  }

  #addResult (block: MessagesToolResultBlock, place: string): void {
    const { tool_use_id: id, content, is_error: isError } = block
    const parts = blocksOf(content ?? []).flatMap((block, index) =>
      this.#parts(block, `${place}.content[${index}]`)
    )
    const mark = block.cache_control ?? lastMark(parts) ?? null
    const given = toolResultText(id, parts, this.#shown)
    const text = isError === true && !/^error/i.test(given) ? `Error: ${given}` : given
    const callId = providerToolId(id)
    this.#openCalls.delete(callId)
    this.#messages.push(this.#placed({
      role: 'tool',
      tool_call_id: callId,
      content: text === '' ? text : shortest(textPart({ type: 'text', text, cache_control: mark }))
    }, place))
  }

  #endUser (): void {
    this.#openCalls.clear()
    for (const message of this.#waiting) this.#messages.push(message)
    this.#waiting = []
    const parts = this.#shown.concat(this.#said)
    if (parts.length > 0) {
      const message: Message = { role: 'user', content: shortest(parts) }
      this.#messages.push(this.#placed(message, this.#userPlace ?? 'messages'))
    }
    this.#userPlace = undefined
    this.#shown = []
    this.#said = []
  }

  #addAssistant (blocks: readonly MessagesBlock[], place: string, blockPlace: BlockPlace): void {
    if (this.#turn === undefined) this.#endUser()
    const turn = this.#turn ??= {
      order: new TurnOrder(),
      content: [],
      thinking: [],
      calls: [],
      details: [],
      reasoning: '',
      place,
      callFields: undefined
    }
    for (const [index, block] of blocks.entries()) {
      addBlock(turn, block)
      for (const added of [turn.content.at(-1), turn.thinking.at(-1), turn.calls.at(-1)]) {
        if (added !== undefined && !this.#places.has(added)) this.#placed(added, blockPlace(index))
      }
    }
  }

  #endTurn (): void {
    if (this.#turn === undefined) return
    const { order: { field: order }, content, thinking, calls, details, reasoning, place } = this.#turn
    this.#turn = undefined
    if (content.length === 0 && calls.length === 0) return
    this.#messages.push(this.#placed({
      role: 'assistant',
      content: content.length === 0 ? null : hasTurnOrder(order) ? content : joined(content),
      ...order,
      ...calls.length > 0 && { tool_calls: calls },
      ...thinking.length > 0 && { thinking_blocks: thinking },
      ...details.length > 0 && { reasoning_details: details },
      ...reasoning !== '' && { reasoning_content: reasoning }
    } satisfies AssistantMessage, place))
    for (const { id } of calls) this.#openCalls.add(id)
  }
}

function addBlock (turn: Turn, block: MessagesBlock): void {
  switch (block.type) {
    case 'text':
      addTexts(turn, textPart(block))
      break
    case 'thinking': {
      const { signature } = block
      if (typeof signature === 'string' && isPacked(signature)) {
        const { reasoning_details: details, reasoning_content: hidden, ...callFields } =
          unpackFields(signature) ?? {}
        addReasoningDetails(turn.details, details)
        turn.reasoning += typeof hidden === 'string' ? hidden : block.thinking
        if (Object.keys(callFields).length > 0) turn.callFields = callFields
      } else if (typeof signature === 'string' && signature !== '') {
        addThinking(turn, { type: 'thinking', thinking: block.thinking, signature })
      } else {
        turn.reasoning += block.thinking
      }
      break
    }
    case 'redacted_thinking':
      addThinking(turn, { type: 'redacted_thinking', data: block.data })
      break
    case 'tool_use':
      turn.order.add('call')
      turn.calls.push(marked({
        ...turn.callFields, // unknown fields must not overwrite known ones
        id: providerToolId(block.id),
        type: 'function',
        function: { name: shortToolName(block.name), arguments: JSON.stringify(block.input) }
      }, block))
      turn.callFields = undefined
      break
    case 'image':
    case 'document':
    case 'tool_result':
    case 'tool_reference':
      break
    case '*':
    default:
      addTexts(turn, otherText(block))
  }
}

function addTexts ({ order, content }: Turn, parts: readonly TextPart[]): void {
  order.add('text', parts.length)
  content.push(...parts)
}

function addThinking ({ order, thinking }: Turn, block: JsonObject): void {
  order.add('thinking')
  thinking.push(block)
}

/** Returns the mark of the last marked text: all texts of a result become one. */
function lastMark (parts: readonly UserPart[]): MessagesTextBlock['cache_control'] {
  const marked = parts.findLast(part => part.type === 'text' && 'cache_control' in part)
  return property(marked, 'cache_control') as MessagesTextBlock['cache_control'] // copied from a block
}

/** Joins the texts of an answer: many servers take no list. Parts with cache marks stay as they are. */
function joined (parts: TextPart[]): string | TextPart[] {
  return parts.some(part => 'cache_control' in part) ? parts : parts.map(({ text }) => text).join('')
}

/** Returns content in its shortest form: a single plain text becomes a string. */
function shortest<P extends UserPart> (parts: P[]): string | P[] {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && !('cache_control' in only) ? only.text : parts
}
