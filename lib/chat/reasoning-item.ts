/**
 * Carries a reasoning item of OpenAI's Responses API through a conversation as the signature of a thinking block:
 * opaque to callers, who give thinking back as they got it, and of no use to any other provider.
 */

import type { ThinkingBlock } from '../core/events.ts'

export interface ReasoningItem {
  readonly id: string
  readonly encryptedContent: string
  /** The part of it that can be read; empty: none. */
  readonly text: string
}

const prefix = 'oai1:'

export function toThinkingBlock ({ id, encryptedContent, text }: ReasoningItem): ThinkingBlock {
  const sealed = `${prefix}${id}:${encryptedContent}`
  return text === '' ? { type: 'redacted_thinking', data: sealed } : { type: 'thinking', thinking: text, signature: sealed }
}

/** Returns the item that a thinking block was made of; `undefined` for the block of another provider. */
export function toReasoningItem ({ thinking, signature, data }: Readonly<Record<string, unknown>>): ReasoningItem | undefined {
  const sealed = signature ?? data
  if (typeof sealed !== 'string' || !sealed.startsWith(prefix)) return undefined
  const end = sealed.indexOf(':', prefix.length)
  if (end === -1) return undefined
  return { id: sealed.slice(prefix.length, end), encryptedContent: sealed.slice(end + 1), text: typeof thinking === 'string' ? thinking : '' }
}
