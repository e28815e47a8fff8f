/**
 * Names places of the shared input as the caller wrote them. Dialects move and merge messages, parts, calls
 * and tools, and note where each came from. A location in the input, such as `messages[3].content[0]`, is
 * translated with the note of the innermost object that has one.
 */

import { isContainer, property } from '../json/type-guards.ts'
import type { ChatInput } from './input.ts'

/** Returns the caller's location for one in `messages` or `tools`; other locations stay as they are. */
export function callerPlace (
  location: string,
  request: Pick<ChatInput, 'messages' | 'tools' | 'originalInput'>
): string {
  const { originalInput } = request
  const [root = ''] = location.split(/[.[]/, 1)
  if (originalInput === undefined || (root !== 'messages' && root !== 'tools')) return location
  const { field, places, fieldName, positions = request } = originalInput
  let value: unknown = positions
  let found = root === 'messages' ? field : fieldName === undefined ? location : root
  for (const step of location.matchAll(/[^.[\]]+\]?/g)) {
    value = property(value, step[0].replace(']', ''))
    const place = isContainer(value) ? places.get(value) : undefined
    if (!isContainer(value) || place === undefined) continue
    const rest = location.slice(step.index + step[0].length)
    found = isField(place) ? place : place + (fieldName === undefined ? rest : fieldName(rest, value))
  }
  return found
}

/**
 * Returns the path of a field within an object in the caller's API; empty if it has no such field.
 *
 * @param beginnings of paths, each with the one that replaces it
 * @param sharedFields matches paths that both have
 */
export function renamedPath (
  path: string,
  beginnings: ReadonlyArray<readonly [beginning: string, name: string]>,
  sharedFields: RegExp
): string {
  const [beginning, name] = beginnings.find(([beginning]) => path.startsWith(beginning)) ?? []
  if (beginning !== undefined) return name + path.slice(beginning.length)
  return sharedFields.test(path) ? path : ''
}

/** Returns true for a whole field, such as `instructions`, within which there is nothing to name. */
function isField (place: string): boolean {
  return !place.endsWith(']')
}
