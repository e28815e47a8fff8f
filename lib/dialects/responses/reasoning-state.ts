/**
 * Packs the reasoning state that a provider needs back into an opaque string. It comes back from the caller,
 * so it is validated like any input; tampering is detected by the provider's signatures.
 */

import { isObject, nonEmptyText, objectsOf, type JsonObject } from '../../json/type-guards.ts'
import { packFields, unpackFields } from '../../json/packed-fields.ts'
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

export function packReasoning (state: ReasoningState): string {
  return packFields(state)
}

/** Returns reasoning that a server of an open model wrote as text; empty if it is encrypted. */
export function reasoningText ({ content }: Pick<ReasoningItem, 'content'>): string {
  return objectsOf(content).flatMap(({ text }) => nonEmptyText(text) ?? []).join('\n\n')
}

/** Returns the packed state; `undefined` for anything else. */
export function unpackReasoning (text: string): ReasoningState | undefined {
  const state = unpackFields(text)
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
