/** Converts messages to items: an assistant message becomes its reasoning, texts and calls. */

import { createHash } from 'node:crypto'
import { contentFor, toReasoningItem } from '../../chat/reasoning-item.ts'
import { hasTurnOrder, inTurnOrder, textPhases } from '../../chat/turn-order.ts'
import { answerTexts } from '../chat-completions/messages.ts'
import { inputContent } from './content.ts'
import type { JsonObject } from '../../json/type-guards.ts'
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../../schemas/messages.ts'
import type { InputItem } from './wire.ts'

/**
 * @param messages without deprecated function calls
 * @param account returns the digest of the account that receives the request. Default: unknown
 * @throws GatewayError `unsupported_parameter` for content that this API does not support
 */
export function wireConversation (messages: readonly Message[], account?: () => string): InputItem[] {
  /** Ids of custom tool calls. */
  const custom = new Set<string>()
  return messages.flatMap((message, index): InputItem[] => {
    switch (message.role) {
      case 'system':
      case 'developer':
      case 'user':
        return [
          {
            type: 'message',
            role: message.role,
            content: inputContent(message.content, `messages[${index}].content`)
          }
        ]
      case 'assistant':
        for (const call of message.tool_calls ?? []) if (call.type === 'custom') custom.add(call.id)
        return answerItems(message, account)
      case 'tool':
        return [resultItem(message, custom)]
      case 'function': // already converted to a tool message
        return []
    }
  })
}

function answerItems (message: AssistantMessage, account: (() => string) | undefined): InputItem[] {
  const parts = answerTexts(message)
  const phases = textPhases(message)
  // As parts of one item, the API accepts texts only with the provider's ids.
  const texts = hasTurnOrder(message) || phases.length > 0 ? parts : [parts.join('')]
  return inTurnOrder<InputItem>(message, {
    thinking: (message.thinking_blocks ?? []).map(block => reasoningItems(block, account)),
    text: texts.map((text, index) => text === '' ? [] : [assistantItem(text, phases[index])]),
    call: (message.tool_calls ?? []).map(call => [callItem(call)])
  })
}

function assistantItem (content: string, phase: string | null | undefined): InputItem {
  return { type: 'message', role: 'assistant', content, ...typeof phase === 'string' && { phase } }
}

/** Drops reasoning of other providers and accounts, which this account could not read. */
function reasoningItems (block: JsonObject, account: (() => string) | undefined): InputItem[] {
  const item = toReasoningItem(block)
  const content = item === undefined ? undefined : contentFor(item.encrypted_content, account)
  return item === undefined || content === undefined ? [] : [{ ...item, encrypted_content: content }]
}

function callItem (call: ToolCall): InputItem {
  const id = toolCallIdOf(call.id)
  return call.type === 'custom'
    ? { type: 'custom_tool_call', call_id: id, name: call.custom.name, input: call.custom.input }
    : { type: 'function_call', call_id: id, name: call.function.name, arguments: call.function.arguments }
}

function resultItem ({ tool_call_id: id, content }: ToolMessage, custom: ReadonlySet<string>): InputItem {
  return {
    type: custom.has(id) ? 'custom_tool_call_output' : 'function_call_output',
    call_id: toolCallIdOf(id),
    output: typeof content === 'string' ? content : content.map(({ text }) => text).join('')
  }
}

/** Maximum length of a tool call id. */
const maxCallIdLength = 64

/**
 * Returns the id of a call as sent: an id from another provider that is too long is replaced by its digest.
 */
function toolCallIdOf (id: string): string {
  return id.length <= maxCallIdLength ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}
