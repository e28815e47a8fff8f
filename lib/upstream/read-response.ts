/** Runs readers over what a provider sent, and makes a GatewayError of what they throw. */

import { GatewayError } from '../core/errors.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { ProviderFailure, invalidResponse } from '../providers/provider-failure.ts'

/** Runs a reader over a response. What it throws unexpectedly is the response's fault: 502, not 500. */
export function readOrRefuse<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof GatewayError || error instanceof ProviderFailure ? error : invalidResponse(error)
  }
}

/** Runs a reader over what was still open when a stream ended: a message that cannot be read was cut. */
export function asInterrupted<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'upstream_invalid_response') throw error
    throw new GatewayError('upstream_stream_interrupted', { cause: error })
  }
}

/** @throws GatewayError `upstream_invalid_response` */
export function parseResponse (text: string): unknown {
  try {
    return parseBounded(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (cause) {
    throw invalidResponse(cause)
  }
}
