/**
 * Makes chat messages of the messages of a request: system prompts keep their places, results of tools come directly
 * behind the calls, pictures in results behind all of them, since most providers take only text in a result.
 */

import { toolResultText } from '../tool-result-text.ts'
import { isSealed, openFields } from './signature.ts'
import { otherText, partsOf, textPart, type Refuse } from './content.ts'
import { providerToolId } from './tool-call-id.ts'
import { shortToolName } from './tool-name.ts'
import type { AssistantMessage, Message, TextPart, ToolCall, UserPart } from '../../../schemas/messages.ts'
import type { MessagesBlock, MessagesMessage, MessagesTextBlock, MessagesToolResultBlock } from '../../../schemas/messages-request.ts'

/** The first system block of Claude Code: it names a version, and changes every turn in some, which empties caches. */
const billingLine = 'x-anthropic-billing-header:'

/** Makes the chat messages of a request. */
export function conversationOf (
  system: string | readonly MessagesTextBlock[] | undefined, messages: readonly MessagesMessage[], refuse: Refuse
): Message[] {
  const reader = new ConversationReader(refuse)
  reader.addSystem(blocksOf(system ?? []))
  for (const [index, { role, content }] of messages.entries()) reader.add(role, blocksOf(content), `messages.${index}.content`)
  return reader.end()
}

/** Returns the names of the deferred tools that the conversation makes known. */
export function foundTools (messages: readonly MessagesMessage[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const block of content) {
      if (block.type === 'tool_reference') found.add(block.tool_name)
      if (block.type !== 'tool_result' || !Array.isArray(block.content)) continue
      for (const part of block.content) if (part.type === 'tool_reference') found.add(part.tool_name)
    }
  }
  return found
}

function blocksOf<B extends MessagesBlock> (content: string | readonly B[]): ReadonlyArray<B | MessagesTextBlock> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

class ConversationReader {
  readonly #messages: Message[] = []
  readonly #refuse: Refuse
  /** System messages that came between calls and their results. */
  #waiting: Message[] = []
  /** True while the results of calls are missing. */
  #callsOpen = false

  constructor (refuse: Refuse) {
    this.#refuse = refuse
  }

  add (role: MessagesMessage['role'], blocks: readonly MessagesBlock[], place: string): void {
    switch (role) {
      case 'system': return this.addSystem(blocks)
      case 'user': return this.#addUser(blocks, place)
      case 'assistant': return this.#addAssistant(blocks)
    }
  }

  addSystem (blocks: readonly MessagesBlock[]): void {
    const content = blocks.flatMap(block => {
      if (block.type !== 'text') return block.type === '*' ? otherText(block) : []
      return block.text.startsWith(billingLine) ? [] : textPart(block)
    })
    if (content.length === 0) return
    const list = this.#callsOpen ? this.#waiting : this.#messages
    list.push({ role: 'system', content: shortest(content) })
  }

  end (): Message[] {
    this.#endResults()
    return this.#messages
  }

  #addUser (blocks: readonly MessagesBlock[], place: string): void {
    const shown: UserPart[] = []
    const said: UserPart[] = []
    for (const [index, block] of blocks.entries()) {
      if (block.type === 'tool_result') this.#addResult(block, `${place}.${index}`, shown)
      else for (const part of partsOf(block, `${place}.${index}`, this.#refuse)) said.push(part)
    }
    this.#endResults()
    const parts = [...shown, ...said]
    if (parts.length > 0) this.#messages.push({ role: 'user', content: shortest(parts) })
  }

  /** @param shown gets what a result has beside text */
  #addResult ({ tool_use_id: id, content, is_error: isError }: MessagesToolResultBlock, place: string, shown: UserPart[]): void {
    const parts = blocksOf(content ?? []).flatMap((block, index) => partsOf(block, `${place}.content.${index}`, this.#refuse))
    const text = toolResultText(id, parts, shown)
    this.#messages.push({
      role: 'tool',
      tool_call_id: providerToolId(id),
      content: isError === true && !/^error/i.test(text) ? `Error: ${text}` : text
    })
  }

  #endResults (): void {
    this.#callsOpen = false
    for (const message of this.#waiting) this.#messages.push(message)
    this.#waiting = []
  }

  #addAssistant (blocks: readonly MessagesBlock[]): void {
    const content: TextPart[] = []
    const thinking: Array<Record<string, unknown>> = []
    const calls: ToolCall[] = []
    let reasoning = ''
    let fields: Record<string, unknown> | undefined
    for (const block of blocks) {
      switch (block.type) {
        case 'text':
          content.push(...textPart(block))
          break
        case 'thinking': {
          const { signature } = block
          if (typeof signature === 'string' && isSealed(signature)) {
            fields = openFields(signature)
            reasoning += block.thinking
          } else if (typeof signature === 'string' && signature !== '') {
            thinking.push({ type: 'thinking', thinking: block.thinking, signature })
          } else {
            reasoning += block.thinking
          }
          break
        }
        case 'redacted_thinking':
          thinking.push({ type: 'redacted_thinking', data: block.data })
          break
        case 'tool_use':
          calls.push({
            ...fields, // from outside: they take the place of nothing
            id: providerToolId(block.id),
            type: 'function',
            function: { name: shortToolName(block.name), arguments: JSON.stringify(block.input) }
          })
          fields = undefined
          break
        case 'image':
        case 'document':
        case 'tool_result':
        case 'tool_reference':
          break
        case '*':
        default:
          content.push(...otherText(block))
      }
    }
    if (content.length === 0 && calls.length === 0) return
    this.#endResults()
    this.#messages.push({
      role: 'assistant',
      content: content.length === 0 ? null : shortest(content),
      ...calls.length > 0 && { tool_calls: calls },
      ...thinking.length > 0 && { thinking_blocks: thinking },
      ...reasoning !== '' && { reasoning_content: reasoning }
    } satisfies AssistantMessage)
    this.#callsOpen = calls.length > 0
  }
}

/** Returns content in its shortest form: one plain text is a string. */
function shortest<P extends UserPart> (parts: P[]): string | P[] {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && !('cache_control' in only) ? only.text : parts
}
