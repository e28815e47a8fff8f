/**
 * Fits the system messages of a conversation, which those of the role `developer` are as well, to a provider: templates of
 * many servers take one text, and it comes first.
 */

import type { ProviderTraits } from '../core/provider-traits.ts'
import type { Message, SystemMessage } from '../../schemas/messages.ts'

/**
 * Returns the conversation with its system messages as the provider takes them; the same list when they are so already.
 *
 * Those at the beginning become one. Later ones are reminders of the user, at their places: models know these from
 * Claude Code, and to move them to the front would change the beginning of a prompt that the provider has cached.
 */
export function fitSystemMessages (
  messages: readonly Message[], { systemAnywhere = false, systemParts = false, cacheMarks = false }: ProviderTraits
): readonly Message[] {
  const placed = systemAnywhere ? messages : withSystemFirst(messages)
  return systemParts || cacheMarks || !placed.some(hasSystemParts) ? placed : placed.map(withSystemText)
}

function withSystemFirst (messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex(message => !isSystem(message))
  const end = first === -1 ? messages.length : first
  if (end <= 1 && !messages.some((message, index) => index >= end && isSystem(message))) return messages
  const front = messages.slice(0, end).filter(isSystem)
  return [...joined(front), ...messages.slice(end).map(message => isSystem(message) ? reminderOf(message) : message)]
}

function joined (messages: readonly SystemMessage[]): readonly SystemMessage[] {
  const [first, second] = messages
  if (first === undefined || second === undefined) return messages
  const content = messages.flatMap(({ content }) => typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content)
  return [{ ...first, content }]
}

function reminderOf ({ content }: SystemMessage): Message {
  return { role: 'user', content: `<system-reminder>\n${textOf(content)}\n</system-reminder>` }
}

function withSystemText (message: Message): Message {
  return hasSystemParts(message) ? { ...message, content: textOf(message.content) } : message
}

function hasSystemParts (message: Message): message is SystemMessage {
  return isSystem(message) && typeof message.content !== 'string'
}

/** Returns the text of a message, with blank lines between its parts. */
function textOf (content: SystemMessage['content']): string {
  return typeof content === 'string' ? content : content.map(part => part.text).join('\n\n')
}

function isSystem (message: Message): message is SystemMessage {
  return message.role === 'system' || message.role === 'developer'
}
