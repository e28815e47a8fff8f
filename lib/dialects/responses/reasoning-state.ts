/**
 * Wraps the reasoning state that a provider needs back in an opaque string. It comes back from the caller, so
 * it is validated like any input; tampering is detected by the provider's signatures.
 */

import { isObject, nonEmptyText, objectsOf, type JsonObject } from '../../json/type-guards.ts'
import { openSealed, seal } from '../../json/sealed.ts'
import type { ExtraFields, ThinkingBlock } from '../../core/events.ts'
import type { ReasoningItem } from '../../../schemas/response-items.ts'

export interface ReasoningState {
  /** The model that produced the reasoning. */
  readonly model: string
  readonly blocks?: readonly ThinkingBlock[]
  /** See `chat/reasoning-details`. */
  readonly details?: readonly JsonObject[]
  /** Fields that belong to the following tool call. */
  readonly callFields?: ExtraFields
}

export function sealReasoning (state: ReasoningState): string {
  return seal(state)
}

/** Returns reasoning that a server of an open model wrote as text; empty if it is encrypted. */
export function reasoningText ({ content }: Pick<ReasoningItem, 'content'>): string {
  return objectsOf(content).flatMap(({ text }) => nonEmptyText(text) ?? []).join('\n\n')
}

/** Returns the sealed state; `undefined` for anything else. */
export function openReasoning (sealed: string): ReasoningState | undefined {
  const state = openSealed(sealed)
  const model = nonEmptyText(state?.['model'])
  if (state === undefined || model === undefined) return undefined
  const blocks = objectsOf(state['blocks']).filter(isThinkingBlock)
  const { callFields } = state
  const details = objectsOf(state['details'])
  return {
    model,
    ...blocks.length > 0 && { blocks },
    ...details.length > 0 && { details },
    ...isObject(callFields) && { callFields }
  }
}

function isThinkingBlock (block: JsonObject): block is JsonObject & ThinkingBlock {
  switch (block['type']) {
    case 'thinking': return typeof block['thinking'] === 'string'
    case 'redacted_thinking': return typeof block['data'] === 'string'
    default: return false
  }
}
