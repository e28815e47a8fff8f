/** What the adapters of JSON APIs have in common of their requests. */

import { printInTurns } from '../json/print-in-turns.ts'
import type { AdapterInput, UpstreamRequest } from './provider.ts'

/**
 * Prints a body; that of a large request while it is sent, and what stands in it as the caller sent it from
 * the caller's own bytes.
 */
export function jsonBody (
  body: object,
  { isLarge, media, callerBody }: Pick<AdapterInput<unknown>, 'isLarge' | 'media' | 'callerBody'>
): UpstreamRequest['body'] & {} {
  if (isLarge === true) return () => printInTurns(body, media)
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
  // also for what is no number on endpoints that do not check it
  if (typeof n !== 'number' || !(n > max)) return [input]
  const parts: Array<AdapterInput<R>> = []
  for (let from = 0; from < n; from += max) {
    const size = Math.min(max, n - from)
    parts.push({ ...input, request: { ...input.request, n: size === 1 ? undefined : size } })
  }
  return parts
}
