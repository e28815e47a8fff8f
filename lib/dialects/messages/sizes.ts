import { tooLong } from '../../validation/too-long.ts'
import { changeIn } from './tool-changes.ts'
import type { CountTokensRequest } from '../../../schemas/messages-request.ts'
import type { ValidCall } from '../../core/call.ts'
import type { ChatSizes } from '../dialect.ts'

/**
 * Creates a check that returns the call unchanged if its lists are within the limits.
 *
 * @throws ValidationError with the list that is too long
 */
export function messagesSizes (
  { chatMessages, chatParts, chatTools }: ChatSizes
): <R extends CountTokensRequest>(call: ValidCall<R>) => ValidCall<R> {
  return call => {
    const { messages, tools = [] } = call.request
    if (messages.length > chatMessages) throw tooLong(['messages'], messages.length, chatMessages)
    if (tools.length > chatTools) throw tooLong(['tools'], tools.length, chatTools)
    let parts = 0
    let toolCount = tools.length
    for (const [index, { content }] of messages.entries()) {
      if (!Array.isArray(content)) continue
      parts += content.length
      for (const block of content) {
        if (block.type === 'tool_result' && Array.isArray(block.content)) parts += block.content.length
        if (changeIn(block)?.definition !== undefined) toolCount++
      }
      if (toolCount > chatTools) throw tooLong(['messages', index, 'content'], toolCount, chatTools)
      if (parts > chatParts) throw tooLong(['messages', index, 'content'], parts, chatParts)
    }
    return call
  }
}
