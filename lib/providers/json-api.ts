/**
 * What the adapters of JSON APIs have in common of their requests and of their responses, streamed or not.
 */

import { objectOf, onlyObjectOf } from '../json/guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import { invalidResponse } from './provider-failure.ts'
import type { AdapterInput, BodyReader, StreamReader, UpstreamRequest } from './provider.ts'

/**
 * Prints a body; that of a large request while it is sent, and what stands in it as the caller sent it from
 * the caller's own bytes.
 */
export function jsonBody (
  body: object,
  { isLarge, media, callerBody }: Pick<AdapterInput<unknown>, 'isLarge' | 'media' | 'callerBody'>
): UpstreamRequest['body'] & {} {
  if (isLarge === true) return () => printInSlices(body, media)
  return callerBody === undefined ? JSON.stringify(body) : callerBody.print(body)
}

/** The headers of a request in JSON whose answer is JSON too. */
export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const

/** Splits a request for `n` choices into requests for at most `max` each. */
export function splitChoices<R extends { readonly n?: number | undefined }> (
  input: AdapterInput<R>,
  max: number
): Array<AdapterInput<R>> {
  const { n } = input.request
  // endpoints that do not check it may pass anything
  if (typeof n !== 'number' || !(n > max)) return [input]
  const parts: Array<AdapterInput<R>> = []
  for (let from = 0; from < n; from += max) {
    const size = Math.min(max, n - from)
    parts.push({ ...input, request: { ...input.request, n: size === 1 ? undefined : size } })
  }
  return parts
}

/**
 * Parses the data of one message of a stream.
 *
 * @returns `undefined` for empty data, which keeps connections open, and for the `[DONE]` that some servers
 *   end with
 * @throws GatewayError `upstream_invalid_response` for what is not JSON
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
 * Parses the data of a message that has to be an object. Some servers put it into a list; and they send
 * `null`, empty lists and numbers to keep connections open, which hold nothing.
 *
 * @throws GatewayError `upstream_invalid_response` for what is not JSON
 */
export function objectIn (data: string): Record<string, unknown> | undefined {
  const value = parseData(data)
  return objectOf(value) ?? onlyObjectOf(value)
}

/** Parses a text that may be the JSON of an object; `undefined` where it is not, as an error in words. */
export function objectOrNothing (data: string): Record<string, unknown> | undefined {
  try {
    return objectOf(parseBounded(data))
  } catch {
    return undefined
  }
}

/**
 * Reads an event stream where one was requested, JSON otherwise. Servers have been seen to send the
 * one in place of the other, so each is read as what it turns out to be.
 */
export function jsonOrSse<R, E> (
  input: AdapterInput<R>,
  json: (value: unknown, input: AdapterInput<R>) => E[],
  stream: (input: AdapterInput<R>) => StreamReader<E>
): BodyReader<E> {
  const read = (value: unknown): E[] => json(value, input)
  return input.streamed
    ? { as: 'sse', reader: stream(input), json: read }
    : { as: 'json', read, sse: () => stream(input) }
}
