/** Makes ids of tool calls unique in a conversation: some servers reuse ids in every answer. */

import { toolCallId } from '../text/ids.ts'
import type { ChatInput } from './input.ts'

/** Returns the ids of all calls in a history. */
export function callIdsIn ({ messages = [] }: Partial<Pick<ChatInput, 'messages'>>): Set<string> {
  const ids = new Set<string>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) ids.add(id)
  }
  return ids
}

/** Returns the server's id, or a new one if it is missing or taken, and marks it as taken. */
export function uniqueCallId (given: string | undefined, taken: Set<string>): string {
  const id = given === undefined || taken.has(given) ? toolCallId() : given
  taken.add(id)
  return id
}
