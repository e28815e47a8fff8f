/**
 * Reads the parts of an answer leniently: anything may be missing. A part that is present but unreadable is
 * an error, because skipping it would silently lose text or a tool call. The amount kept until the answer
 * ends is bounded.
 */

import { isList, isObject, type JsonObject } from '../json/guards.ts'
import { objectOrNothing } from './json-api.ts'
import { invalidResponse } from './provider-failure.ts'

/**
 * Returns the objects of a list. A bare object counts as a list of one; `null` items are skipped.
 *
 * @param what name of the list in the error
 * @throws GatewayError `upstream_invalid_response` for any other non-empty value
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

/** Returns the parts of a content, which may be a string. @throws GatewayError like `partsOf` */
export function contentOf (value: unknown, what: string): readonly JsonObject[] {
  return typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : partsOf(value, what)
}

/** Returns the arguments of a tool call as text. Some servers send an object; missing arguments are `''`. */
export function argumentsText (value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * Returns the arguments of a tool call as text, for APIs that send an object.
 *
 * @throws GatewayError `upstream_invalid_response` unless the value is an object or the JSON of one
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
 * Infers the type of an untyped part from its members.
 *
 * @param members maps a member to the only type that has it; the first match wins
 */
export function memberType (part: JsonObject, members: Readonly<Record<string, string>>): string | undefined {
  const member = Object.keys(members).find(name => part[name] !== undefined && part[name] !== null)
  return member === undefined ? undefined : members[member]
}

/** Limit on what is kept until an answer ends (arguments, thinking, citations); no real answer reaches it. */
const maxCharacters = 16 * 1024 * 1024
/** Overhead per part, in addition to its text. */
const partCharacters = 64

/** Bounds what the reader of one answer keeps: a provider may never stop sending. */
export class Retained {
  #characters = 0

  /** @throws GatewayError `upstream_invalid_response` for more than 16 million characters */
  add (characters: number): void {
    this.#characters += characters + partCharacters
    if (this.#characters > maxCharacters) throw invalidResponse('an answer without an end')
  }
}
