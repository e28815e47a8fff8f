/**
 * Reads tool results with images and files, which most providers refuse in a tool message: these follow in a
 * user message, as in the other dialects.
 */

import { joinedContent } from '../system-messages.ts'
import { toolResultText } from '../tool-result-text.ts'
import type {
  CallerMessage, CallerToolMessage, Message, ToolMessage, UserPart
} from '../../../schemas/messages.ts'

export interface TextResults {
  /** The messages of the caller, one by one. */
  readonly given: readonly Message[]
  /** The same with what the results show. */
  readonly messages: readonly Message[]
}

/** Returns true for a message that providers accept: a tool result must be a text. */
export function hasTextResult (message: CallerMessage): message is Message {
  return (
    message.role !== 'tool' ||
    typeof message.content === 'string' ||
    message.content.every(({ type }) => type === 'text')
  )
}

/** Converts a conversation to one whose tool results are texts; returns the same list if they are. */
export function textResults (messages: readonly CallerMessage[]): TextResults {
  if (messages.every(hasTextResult)) return { given: messages, messages }
  const given: Message[] = []
  const read: Message[] = []
  let shown: UserPart[] = []
  for (const message of messages) {
    const text = hasTextResult(message) ? message : asText(message, shown)
    given.push(text)
    if (text.role === 'tool' || shown.length === 0) read.push(text)
    else {
      if (text.role === 'user') read.push({ ...text, content: joinedContent(shown, text.content) })
      else read.push({ role: 'user', content: shown }, text)
      shown = []
    }
  }
  if (shown.length > 0) read.push({ role: 'user', content: shown })
  return { given, messages: read }
}

function asText (message: CallerToolMessage, shown: UserPart[]): ToolMessage {
  const { content, tool_call_id: id } = message
  return { ...message, content: typeof content === 'string' ? content : toolResultText(id, content, shown) }
}
