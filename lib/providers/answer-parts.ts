/**
 * Reads the parts of an answer as servers write them. What a server leaves out it may leave out in any way;
 * what stands there and cannot be read is an error: to pass over it would lose a text or a tool call without
 * a word. What is kept until the answer ends is bounded.
 */

import { isList, isObject, type JsonObject } from '../json/guards.ts'
import { objectOrNothing } from './json-api.ts'
import { invalidResponse } from './provider-failure.ts'

/**
 * Returns the objects of a list; an object without a list around it is its only one, and `null` in it is
 * nobody's.
 *
 * @param what names the list in the error
 * @throws GatewayError `upstream_invalid_response` for anything else that is not empty
 */
export function partsOf (value: unknown, what: string): readonly JsonObject[] {
  if (isList(value)) {
    if (value.every(isObject)) return value
    return value.flatMap(item => partsOf(item, what))
  }
  if (isObject(value)) return [value]
  if (value === undefined || value === null || value === '') return []
  throw invalidResponse(`${what} cannot be read`)
}

/** Returns the parts of a content, which may be one text. @throws GatewayError as `partsOf` does */
export function contentOf (value: unknown, what: string): readonly JsonObject[] {
  return typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : partsOf(value, what)
}

/**
 * Returns the arguments of a call as text: JSON that servers also send as the object itself; `''` where there
 * are none.
 */
export function argumentsText (value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * Returns the arguments of a call whose API sends them as an object, as text.
 *
 * @throws GatewayError `upstream_invalid_response` for what is neither an object nor the JSON of one
 */
export function objectArguments (value: unknown): string {
  const isEmpty =
    value === undefined || value === null || value === '' || (isList(value) && value.length === 0)
  if (isEmpty) return '{}'
  if (isObject(value)) return JSON.stringify(value)
  if (typeof value === 'string' && objectOrNothing(value) !== undefined) return value
  throw invalidResponse('the arguments of a tool call cannot be read')
}

/**
 * Returns the type of a part that does not say it, by what it holds.
 *
 * @param members a type by the member that only parts of this type have; the first that is there counts
 */
export function memberType (part: JsonObject, members: Readonly<Record<string, string>>): string | undefined {
  const member = Object.keys(members).find(name => part[name] !== undefined && part[name] !== null)
  return member === undefined ? undefined : members[member]
}

/** More than any answer has that is kept until it ends: arguments, thinking, citations. */
const maxCharacters = 16 * 1024 * 1024
/** What a part takes beside its text. */
const partCharacters = 64

/** Bounds what the reader of one answer keeps until the answer ends: a provider may go on for ever. */
export class Retained {
  #characters = 0

  /** @throws GatewayError `upstream_invalid_response` for more than 16 million characters */
  add (characters: number): void {
    this.#characters += characters + partCharacters
    if (this.#characters > maxCharacters) throw invalidResponse('an answer without an end')
  }
}
