/** Helpers shared by the responses of these APIs. */

import { objectOf } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { invalidResponse } from '../provider-failure.ts'
import type { UpstreamHead } from '../provider.ts'

/** Returns the media type without parameters, in lower case; empty if there is none. */
export function contentTypeOf ({ headers }: UpstreamHead): string {
  return String(headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** @throws GatewayError `upstream_invalid_response` for anything but a JSON object */
export function parseObject (data: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseBounded(data)
  } catch (cause) {
    throw invalidResponse(cause)
  }
  const object = objectOf(value)
  if (object === undefined) throw invalidResponse('the response is not an object')
  return object
}
