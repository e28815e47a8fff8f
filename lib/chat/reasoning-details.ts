/**
 * The field `reasoning_details` of OpenRouter: reasoning that its models need back. A stream brings it in
 * pieces. Their `index` does not tell blocks apart, so a piece continues the block before it if both have the
 * same type and that block has no signature yet, as in OpenRouter's own client.
 *
 * @see https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
 */

import { objectsOf, type JsonObject } from '../json/type-guards.ts'

/** Fields with text that a stream splits, by type of detail. Others, such as `data`, come whole. */
const splitFields: ReadonlyMap<unknown, string> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary']
])

/**
 * Adds the details of a message, or of a piece of it, to those so far.
 *
 * @param added the value of the field; anything but objects in it is ignored
 */
export function addReasoningDetails (details: JsonObject[], added: unknown): void {
  const [first, ...rest] = objectsOf(added)
  if (first === undefined) return
  const last = details.at(-1)
  if (last !== undefined && isContinuedBy(last, first)) details[details.length - 1] = joined(last, first)
  else details.push(first)
  for (const detail of rest) details.push(detail)
}

function isContinuedBy (block: JsonObject, piece: JsonObject): boolean {
  return splitFields.has(block['type']) && block['type'] === piece['type'] &&
    block['index'] === piece['index'] && (block['signature'] ?? '') === ''
}

function joined (block: JsonObject, piece: JsonObject): JsonObject {
  const field = splitFields.get(block['type']) ?? ''
  const given = Object.entries(piece).filter(([, value]) => value !== null)
  const text = fieldText(block, field) + fieldText(piece, field)
  return { ...block, ...Object.fromEntries(given), [field]: text }
}

function fieldText (detail: JsonObject, field: string): string {
  const text = detail[field]
  return typeof text === 'string' ? text : ''
}
