/**
 * Ids of tool calls, each once in a conversation: a server that numbers its calls gives the same ones in
 * every answer.
 */

import { toolCallId } from '../text/ids.ts'
import type { ChatInput } from './input.ts'

/** Returns the ids of the calls in a history. */
export function callIdsIn ({ messages = [] }: Partial<Pick<ChatInput, 'messages'>>): Set<string> {
  const ids = new Set<string>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) ids.add(id)
  }
  return ids
}

/** Returns the id of a server unless it is taken or missing, and takes it. */
export function uniqueCallId (given: string | undefined, taken: Set<string>): string {
  const id = given === undefined || taken.has(given) ? toolCallId() : given
  taken.add(id)
  return id
}
