/**
 * Carries a reasoning item of OpenAI's Responses API through a conversation as the signature of a thinking
 * block: opaque to callers, who send thinking back unchanged, and useless to other providers. Only the
 * account that encrypted the reasoning can read it, so its digest is included if there are several.
 */

import type { ThinkingBlock } from '../core/events.ts'

/** The item as sent. */
export interface ReasoningItem {
  readonly type: 'reasoning'
  /** Absent if the caller dropped it. */
  readonly id?: string
  readonly summary: ReadonlyArray<{ readonly type: 'summary_text', readonly text: string }>
  readonly encrypted_content: string
}

const prefix = 'oai1:'

/** @param text readable part of the reasoning; may be empty */
export function toThinkingBlock (id: string, encryptedContent: string, text: string): ThinkingBlock {
  const signed = `${prefix}${id}:${encryptedContent}`
  return text === ''
    ? { type: 'redacted_thinking', data: signed }
    : { type: 'thinking', thinking: text, signature: signed }
}

/** Returns the item in a thinking block; `undefined` for a block of another provider. */
export function toReasoningItem ({
  thinking,
  signature,
  data
}: Readonly<Record<string, unknown>>): ReasoningItem | undefined {
  const signed = signature ?? data
  if (typeof signed !== 'string' || !signed.startsWith(prefix)) return undefined
  const end = signed.indexOf(':', prefix.length)
  if (end === -1) return undefined
  const summary =
    typeof thinking === 'string' && thinking !== ''
      ? [{ type: 'summary_text' as const, text: thinking }]
      : []
  return {
    type: 'reasoning',
    ...end > prefix.length && { id: signed.slice(prefix.length, end) },
    summary,
    encrypted_content: signed.slice(end + 1)
  }
}

/** Begins a label, which ends with a dot. Contains its version. */
const labelPrefix = 'hga1.'

/** Adds the account to encrypted content. */
export function labelContent (content: string, account: string): string {
  return `${labelPrefix}${account}.${content}`
}

/**
 * Labels every encrypted content in a provider's JSON. The name cannot match inside a string, where quotes
 * are escaped.
 */
export function labelContents (json: string, account: string): string {
  return json.replaceAll(/"encrypted_content"\s*:\s*"(?!")/g, start => start + labelContent('', account))
}

export interface EncryptedContent {
  readonly content: string
  /** Digest of the account that encrypted it. Absent if unknown. */
  readonly account?: string
}

/** Separates encrypted content from its label, if it has one. */
export function splitContent (labelled: string): EncryptedContent {
  const end = labelled.startsWith(labelPrefix) ? labelled.indexOf('.', labelPrefix.length) : -1
  return end === -1
    ? { content: labelled }
    : { account: labelled.slice(labelPrefix.length, end), content: labelled.slice(end + 1) }
}

/** Returns the content for an account; `undefined` if only another account can read it. */
export function contentFor (labelled: string, readerAccount: (() => string) | undefined): string | undefined {
  const { content, account } = splitContent(labelled)
  return account === undefined || account === readerAccount?.() ? content : undefined
}
