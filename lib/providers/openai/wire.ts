/** Small readings that the answers of these APIs have in common. */

import { GatewayError } from '../../core/errors.ts'
import { objectOf } from '../../json/guards.ts'
import type { UpstreamHead } from '../provider.ts'

/** Without parameters, in small letters; empty when there is none. */
export function contentTypeOf ({ headers }: UpstreamHead): string {
  return String(headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** @throws GatewayError `upstream_invalid_response` for anything else */
export function parseObject (data: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
  const object = objectOf(value)
  if (object === undefined) throw new GatewayError('upstream_invalid_response', { cause: 'not an object' })
  return object
}
