/**
 * Shared by the adapters of JSON APIs: printing requests, and reading complete or streamed responses.
 *
 * Answers are read leniently: anything may be missing. A part that is present but unreadable is an error,
 * because skipping it would silently lose text or a tool call.
 */

import { GatewayError } from '../core/errors.ts'
import { isList, isObject, objectOf, onlyObjectOf, type JsonObject } from '../json/type-guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import { ProviderFailure, invalidResponse, usageOfError, withUsage } from './provider-failure.ts'
import type { Usage } from '../core/usage.ts'
import type { Adapter, AdapterInput, StreamReader, UpstreamRequest } from './provider.ts'

/**
 * Serialises a body. Large bodies are serialised while they are sent; unchanged values are copied from the
 * caller's bytes.
 */
export function jsonBody (
  body: object,
  { isLarge, media, callerBody }: Pick<AdapterInput<unknown>, 'isLarge' | 'media' | 'callerBody'>
): UpstreamRequest['body'] & {} {
  if (isLarge === true) return () => printInSlices(body, media)
  return callerBody === undefined ? JSON.stringify(body) : callerBody.print(body)
}

/** Headers of a request whose body and answer are JSON. */
export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const

/**
 * Returns the function that splits requests for `n` choices into requests for at most `max` each, or for one
 * each at a server that gives no more (`Adapter.split`).
 */
export function splitChoices<R extends { readonly n?: number | undefined }> (
  max: number
): (input: AdapterInput<R>) => ReadonlyArray<AdapterInput<R>> {
  return input => {
    const { request: { n }, quirks } = input
    const maxChoices = quirks.multipleChoices === false ? 1 : max
    // Endpoints without a check may pass any value.
    if (typeof n !== 'number' || !(n > maxChoices)) return [input]
    const parts: Array<AdapterInput<R>> = []
    for (let from = 0; from < n; from += maxChoices) {
      const size = Math.min(maxChoices, n - from)
      parts.push({ ...input, request: { ...input.request, n: size === 1 ? undefined : size } })
    }
    return parts
  }
}

/**
 * Parses the data of one stream message.
 *
 * @returns `undefined` for empty keep-alive data and for the final `[DONE]` of some servers
 * @throws GatewayError `upstream_invalid_response` for invalid JSON
 */
export function parseData (data: string): unknown {
  if (!data.startsWith('{') && /^\s*(?:\[DONE\]\s*)?$/.test(data)) return undefined
  try {
    return parseBounded(data)
  } catch (cause) {
    throw invalidResponse(cause)
  }
}

/**
 * Parses data that must be an object. Some servers wrap it in a list; `null`, empty lists and numbers are
 * keep-alives without content.
 *
 * @throws GatewayError `upstream_invalid_response` for invalid JSON
 */
export function objectIn (data: string): Record<string, unknown> | undefined {
  const value = parseData(data)
  return objectOf(value) ?? onlyObjectOf(value)
}

/** Parses text that may be a JSON object; `undefined` if it is not, such as a plain-text error. */
export function objectOrNothing (data: string): Record<string, unknown> | undefined {
  try {
    return objectOf(parseBounded(data))
  } catch {
    return undefined
  }
}

/**
 * Returns the function that reads responses (`Adapter.read`): an event stream if one was requested, else
 * JSON. Some servers send the other format, so a response is read as what it turns out to be.
 */
export function jsonOrSse<R, E> (
  json: (value: unknown, input: AdapterInput<R>) => E[],
  stream: (input: AdapterInput<R>) => StreamReader<E>
): Adapter<R, E>['read'] {
  return (_head, input) => {
    const read = (value: unknown): E[] => json(value, input)
    return input.streamed
      ? { as: 'events', reader: stream(input), json: read }
      : { as: 'json', read, sse: () => stream(input) }
  }
}

/** Reads a complete answer; an error carries the usage of the answer. */
export function withReportedUsage<T> (usage: () => Usage | undefined, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const isNamed = error instanceof GatewayError || error instanceof ProviderFailure
    throw withUsage(isNamed ? error : invalidResponse(error), usageOfError(error) ?? usage())
  }
}

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
