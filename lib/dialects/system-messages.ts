/**
 * Adapts system and developer messages to a provider: the chat templates of many servers accept a single text
 * at the start.
 */

import type { ChatInput } from '../chat/input.ts'
import type { ProviderTraits } from '../core/provider-traits.ts'
import type { Message, SystemMessage, UserMessage } from '../../schemas/messages.ts'

/** Returns the request with system messages as the provider accepts them; the same one if nothing changes. */
export function fitSystem (request: ChatInput, provider: ProviderTraits): ChatInput {
  const messages = fitSystemMessages(request.messages, provider)
  return messages === request.messages ? request : withMessages(request, messages)
}

/** Notes where the new messages came from, so that errors still name the right ones. */
function withMessages (request: ChatInput, messages: readonly Message[]): ChatInput {
  const {
    messages: given,
    originalInput = {
      field: 'messages',
      places: new Map(given.map((message, index) => [message, `messages[${index}]`]))
    }
  } = request
  const places = new Map<object, string>(originalInput.places)
  for (const [message, fitted] of replacements(given, messages)) {
    const place = places.get(message)
    if (place !== undefined && fitted !== undefined && !places.has(fitted)) places.set(fitted, place)
  }
  return { ...request, messages, originalInput: { ...originalInput, places } }
}

/** Maps each message to itself, or to the next new one, preferably of the same role. */
function replacements (
  given: readonly Message[],
  fitted: readonly Message[]
): ReadonlyMap<Message, Message | undefined> {
  const indexes = new Map(fitted.map((message, index) => [message, index]))
  const kept = new Set(given)
  const fresh = fitted.flatMap((message, index) => kept.has(message) ? [] : [{ message, index }])
  let last = -1
  let at = 0
  return new Map(
    given.map(message => {
      const index = indexes.get(message)
      if (index !== undefined) {
        last = index
        return [message, message]
      }
      while (at < fresh.length - 1 && (fresh[at]?.index ?? 0) < last) at++
      const next = fresh[at + 1]?.message
      return [
        message,
        fresh[at]?.message.role !== message.role && next?.role === message.role ? next : fresh[at]?.message
      ]
    })
  )
}

/**
 * Returns the conversation with system messages as the provider accepts them; the same list if nothing
 * changes.
 *
 * Those at the start are merged. Later ones become reminders in user messages, in place: models know these
 * from Claude Code, and moving them to the front would invalidate the cached prompt prefix.
 */
export function fitSystemMessages (
  messages: readonly Message[],
  { systemAnywhere = false, systemParts = false, cacheMarks }: ProviderTraits
): readonly Message[] {
  const ordered = systemAnywhere ? messages : withSystemFirst(messages)
  if (systemParts || cacheMarks === true || !ordered.some(hasSystemParts)) return ordered
  return ordered.map(withSystemText)
}

function withSystemFirst (messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex(message => !isSystem(message))
  const end = first === -1 ? messages.length : first
  if (end <= 1 && !messages.some((message, index) => index >= end && isSystem(message))) return messages
  const front = messages.slice(0, end).filter(isSystem)
  return [...joined(front), ...withReminders(messages.slice(end))]
}

function joined (messages: readonly SystemMessage[]): readonly SystemMessage[] {
  const [first, second] = messages
  if (first === undefined || second === undefined) return messages
  const content = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  )
  return [{ ...first, content }]
}

/**
 * Converts later system messages to reminders, merged into an adjacent user message: templates require
 * alternating roles.
 */
function withReminders (messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = []
  let isOwn = false
  for (const message of messages) {
    const isReminder = isSystem(message)
    const next = isReminder ? reminderOf(message) : message
    const last = ordered.at(-1)
    if ((isReminder || isOwn) && last?.role === 'user' && next.role === 'user')
      ordered[ordered.length - 1] = { ...last, content: joinedContent(last.content, next.content) }
    else ordered.push(next)
    isOwn = isReminder
  }
  return ordered
}

type UserContent = UserMessage['content']

/** Joins the content of two user messages. */
export function joinedContent (first: UserContent, second: UserContent): UserContent {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`
  return [first, second].flatMap(content =>
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  )
}

function reminderOf ({ content }: SystemMessage): UserMessage {
  return { role: 'user', content: `<system-reminder>\n${systemText(content)}\n</system-reminder>` }
}

function withSystemText (message: Message): Message {
  return hasSystemParts(message) ? { ...message, content: systemText(message.content) } : message
}

function hasSystemParts (message: Message): message is SystemMessage {
  return typeof message.content !== 'string' && isSystem(message)
}

/** Returns the text of a message, with parts separated by blank lines. */
function systemText (content: SystemMessage['content']): string {
  return typeof content === 'string' ? content : content.map(part => part.text).join('\n\n')
}

/** Returns true for the roles `system` and `developer`. */
export function isSystem (message: Message): message is SystemMessage {
  return message.role === 'system' || message.role === 'developer'
}
