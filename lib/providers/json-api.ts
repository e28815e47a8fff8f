/** Shared by the adapters of JSON APIs: requests, and complete or streamed responses. */

import { objectOf, onlyObjectOf } from '../json/guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import { invalidResponse } from './provider-failure.ts'
import type { AdapterInput, BodyFormat, StreamReader, UpstreamRequest } from './provider.ts'

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

/** Splits a request for `n` choices into requests for at most `max` each. */
export function splitChoices<R extends { readonly n?: number | undefined }> (
  input: AdapterInput<R>,
  max: number
): Array<AdapterInput<R>> {
  const { n } = input.request
  // Endpoints without a check may pass any value.
  if (typeof n !== 'number' || !(n > max)) return [input]
  const parts: Array<AdapterInput<R>> = []
  for (let from = 0; from < n; from += max) {
    const size = Math.min(max, n - from)
    parts.push({ ...input, request: { ...input.request, n: size === 1 ? undefined : size } })
  }
  return parts
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
 * Reads an event stream if one was requested, else JSON. Some servers send the other format, so the response
 * is read as what it turns out to be.
 */
export function jsonOrSse<R, E> (
  input: AdapterInput<R>,
  json: (value: unknown, input: AdapterInput<R>) => E[],
  stream: (input: AdapterInput<R>) => StreamReader<E>
): BodyFormat<E> {
  const read = (value: unknown): E[] => json(value, input)
  return input.streamed
    ? { as: 'sse', reader: stream(input), json: read }
    : { as: 'json', read, sse: () => stream(input) }
}
