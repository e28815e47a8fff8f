/**
 * Wraps the reasoning of an answer as a provider needs it back: an opaque text of ours around what is opaque
 * to us. It comes back from outside, so it is read like any other input; the provider's own signatures show
 * whether it was changed.
 */

import { isObject, nonEmptyText, objectsOf, type JsonObject } from '../../json/guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import type { ExtraFields, ThinkingBlock } from '../../core/events.ts'

export interface ReasoningState {
  /** The model that reasoned. */
  readonly model: string
  readonly blocks?: readonly ThinkingBlock[]
  /** Fields that belong to the tool call that follows. */
  readonly callFields?: ExtraFields
}

const prefix = 'hg1.'

export function sealReasoning (state: ReasoningState): string {
  return prefix + Buffer.from(JSON.stringify(state)).toString('base64url')
}

/** Returns true for what was sealed here, even if it was damaged since. */
export function isSealedReasoning (text: string): boolean {
  return text.startsWith(prefix)
}

/** Returns what was sealed; `undefined` when it comes from elsewhere. */
export function openReasoning (sealed: string): ReasoningState | undefined {
  if (!isSealedReasoning(sealed)) return undefined
  const state = parsed(Buffer.from(sealed.slice(prefix.length), 'base64url').toString())
  const model = nonEmptyText(state?.['model'])
  if (state === undefined || model === undefined) return undefined
  const blocks = objectsOf(state['blocks']).filter(isThinkingBlock)
  const { callFields } = state
  return { model, ...blocks.length > 0 && { blocks }, ...isObject(callFields) && { callFields } }
}

function isThinkingBlock (block: JsonObject): block is JsonObject & ThinkingBlock {
  switch (block['type']) {
    case 'thinking': return typeof block['thinking'] === 'string'
    case 'redacted_thinking': return typeof block['data'] === 'string'
    default: return false
  }
}

function parsed (text: string): JsonObject | undefined {
  try {
    const value: unknown = parseBounded(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined // changed or cut off on its way: as good as none
  }
}
