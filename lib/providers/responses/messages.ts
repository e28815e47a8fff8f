/**
 * Messages as items: one message of the model becomes its reasoning, its text and its calls, in this order.
 */

import { toReasoningItem } from '../../chat/reasoning-item.ts'
import { answerText, inputContent } from './content.ts'
import { toolCallIdOf } from './tool-call-id.ts'
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../../schemas/messages.ts'
import type { InputItem } from './wire.ts'

/**
 * @param messages without deprecated calls of functions
 * @throws GatewayError `unsupported_parameter` for content that this API cannot take
 */
export function wireConversation (messages: readonly Message[]): InputItem[] {
  /** Ids of calls with free-form input. */
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
        return answerItems(message)
      case 'tool':
        return [resultItem(message, custom)]
      case 'function': // a tool message by now
        return []
    }
  })
}

function answerItems (message: AssistantMessage): InputItem[] {
  const text = answerText(message)
  return [
    ...reasoningItems(message.thinking_blocks),
    ...text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }],
    ...(message.tool_calls ?? []).map(callItem)
  ]
}

/** Reasoning of other providers is left out: this one could not read it. */
function reasoningItems (blocks: AssistantMessage['thinking_blocks']): InputItem[] {
  return (blocks ?? []).flatMap((block): InputItem[] => {
    const item = toReasoningItem(block)
    return item === undefined ? [] : [item]
  })
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
