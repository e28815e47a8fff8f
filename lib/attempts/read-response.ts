/** Runs readers over what a provider sent, and makes a GatewayError of what they throw. */

import { GatewayError } from '../core/errors.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { maxDepth } from '../json/parse-bounded.ts'
import { parseInTurns } from '../json/parse-in-turns.ts'
import { ValueCounter } from '../json/value-counter.ts'
import { ProviderFailure, invalidResponse, pageInstead } from '../providers/provider-failure.ts'

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

/** Larger texts are parsed in turns of the event loop. */
const parsedAtOnceBytes = 256 * 1024
/**
 * Numbers in a complete response; keys, strings, objects and lists count as eight. As much as 8,000 tokens
 * have with twenty probabilities each; in memory some hundred megabytes.
 */
const maxParseCost = 8_000_000
const countedBytes = 1024 * 1024

/**
 * Parses a complete response, a large one in turns of the event loop.
 *
 * @throws GatewayError `upstream_invalid_response`; a large one rejects
 */
export function parseResponseBytes (bytes: Buffer): unknown {
  return bytes.length > parsedAtOnceBytes ? parseLarge(withoutMark(bytes)) : parseResponse(bytes.toString())
}

async function parseLarge (bytes: Buffer): Promise<unknown> {
  try {
    const counter = new ValueCounter(Infinity)
    for (let at = 0; at < bytes.length; at += countedBytes) {
      counter.push(bytes.subarray(at, at + countedBytes))
      if (counter.parseCost > maxParseCost) throw new SyntaxError('too many values')
      await yieldFairly()
    }
    return await parseInTurns(bytes, maxDepth)
  } catch (cause) {
    throw invalidResponse(cause)
  }
}

function withoutMark (bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** @throws GatewayError `upstream_invalid_response` */
export function parseResponse (text: string): unknown {
  try {
    return parseBounded(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (cause) {
    throw /^\s*</.test(text) ? pageInstead() : invalidResponse(cause)
  }
}
