import { tooLong } from '../../validation/too-long.ts'
import type { ChatRequest } from '../../../schemas/chat.ts'
import type { ChatSizes } from '../dialect.ts'
import type { ValidCall } from '../../core/call.ts'

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
    checkMessages('messages', messages)
    checkMessages('input', input)
    if (tools.length > chatTools) throw tooLong(['tools'], tools.length, chatTools)
    if (functions.length > chatTools) throw tooLong(['functions'], functions.length, chatTools)
    return call
  }

  function checkMessages (field: string, messages: ChatRequest['messages']): void {
    if (!Array.isArray(messages)) return
    if (messages.length > chatMessages) throw tooLong([field], messages.length, chatMessages)
    let parts = 0
    for (const [index, { content }] of messages.entries()) {
      if (!Array.isArray(content)) continue
      parts += content.length
      if (parts > chatParts) throw tooLong([field, index, 'content'], parts, chatParts)
    }
  }
}
