/**
 * Carries a reasoning item of OpenAI's Responses API through a conversation as the signature of a thinking
 * block: opaque to callers, who give thinking back as they got it, and of no use to any other provider.
 */

import type { ThinkingBlock } from '../core/events.ts'

/** As it is sent. */
export interface ReasoningItem {
  readonly type: 'reasoning'
  readonly id: string
  readonly summary: ReadonlyArray<{ readonly type: 'summary_text', readonly text: string }>
  readonly encrypted_content: string
}

const prefix = 'oai1:'

/** @param text the part of the reasoning that can be read; empty: none */
export function toThinkingBlock (id: string, encryptedContent: string, text: string): ThinkingBlock {
  const sealed = `${prefix}${id}:${encryptedContent}`
  return text === ''
    ? { type: 'redacted_thinking', data: sealed }
    : { type: 'thinking', thinking: text, signature: sealed }
}

/** Returns the item that a thinking block was made of; `undefined` for the block of another provider. */
export function toReasoningItem ({
  thinking,
  signature,
  data
}: Readonly<Record<string, unknown>>): ReasoningItem | undefined {
  const sealed = signature ?? data
  if (typeof sealed !== 'string' || !sealed.startsWith(prefix)) return undefined
  const end = sealed.indexOf(':', prefix.length)
  if (end === -1) return undefined
  const summary =
    typeof thinking === 'string' && thinking !== ''
      ? [{ type: 'summary_text' as const, text: thinking }]
      : []
  return {
    type: 'reasoning',
    id: sealed.slice(prefix.length, end),
    summary,
    encrypted_content: sealed.slice(end + 1)
  }
}
