/** Interprets a conversation for the sandbox: who said what, and which turn comes next. */

import { nonEmptyText, property } from '../json/type-guards.ts'
import { withoutDirectives } from './directives.ts'
import type { Message } from '../../schemas/messages.ts'

export interface ToolResult {
  readonly name: string
  readonly text: string
}

export interface Question {
  /** The last user message, directives included. */
  readonly raw: string
  /** The same without them. */
  readonly text: string
  /** The system and developer messages. */
  readonly instructions: string
  /** `1 image_url`, `2 file`: attachments of the text. */
  readonly attachments: readonly string[]
  /** The turn to reply to, counted from the last user message: 1, then 2 with tool results. */
  readonly turn: number
  /** The results of the tools, if the conversation ends with them. */
  readonly results: readonly ToolResult[]
}

export function readQuestion (conversation: readonly Message[]): Question {
  const messages = conversation.filter((message, index) => !showsResults(message, conversation[index - 1]))
  const lastUser = messages.findLastIndex(
    ({ role, content }) => role === 'user' && !(typeof content === 'string' && isReminder(content))
  )
  const raw = lastUser < 0 ? '' : questionText(messages[lastUser]?.content)
  const instructions = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(message => contentText(message.content))
    .join('\n')
  return {
    raw,
    text: withoutDirectives(raw),
    instructions,
    attachments: lastUser < 0 ? [] : attachmentsOf(messages[lastUser]?.content),
    turn: 1 + messages.slice(lastUser + 1).filter(({ role }) => role === 'assistant').length,
    results: resultsAtEnd(messages)
  }
}

/** Agents add reminders to a prompt, with words that could be mistaken for directives and names of tools. */
function questionText (content: unknown): string {
  if (!Array.isArray(content)) return contentText(content)
  const texts = content.map(part => contentText([part])).filter(text => text !== '')
  const own = texts.filter(text => !text.trimStart().startsWith(reminder))
  return own.length === texts.length ? own.join('') : own.at(-1) ?? ''
}

const reminder = '<system-reminder>'

/** Returns true for a message that is only a reminder. */
function isReminder (text: string): boolean {
  return text.trimStart().startsWith(reminder) && text.trimEnd().endsWith('</system-reminder>')
}

/** Images in tool results follow in a user message, which is not a new question. */
function showsResults ({ role, content }: Message, before: Message | undefined): boolean {
  const afterResults = before?.role === 'tool' || before?.role === 'function'
  return role === 'user' && afterResults && attachmentsOf(content).length > 0
}

/** Returns the text of a content: the string itself, or its text parts. */
export function contentText (content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(part => nonEmptyText(property(part, 'text')) ?? '').join('')
}

function attachmentsOf (content: unknown): string[] {
  if (!Array.isArray(content)) return []
  const counts = new Map<string, number>()
  for (const part of content) {
    const type = nonEmptyText(property(part, 'type'))
    if (type === undefined || type === 'text') continue
    counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  return [...counts].map(([type, count]) => `${count} ${type}`)
}

function resultsAtEnd (messages: readonly Message[]): ToolResult[] {
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const call of message.tool_calls ?? []) {
      names.set(call.id, 'custom' in call ? call.custom.name : call.function.name)
    }
  }
  const results: ToolResult[] = []
  for (const message of messages.toReversed()) {
    if (message.role === 'tool') {
      results.unshift({ name: names.get(message.tool_call_id) ?? 'tool', text: contentText(message.content) })
    } else if (message.role === 'function') {
      results.unshift({ name: message.name, text: message.content ?? '' })
    } else {
      break
    }
  }
  return results
}
