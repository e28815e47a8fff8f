/** Reads the bytes of complete responses, and turns what cannot be read into errors. */

import { GatewayError } from '../core/errors.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { colon, isSpace, openList, openObject } from '../json/characters.ts'
import { parseBounded, maxDepth, ValueCounter } from '../json/parse-bounded.ts'
import { parseInSlices } from '../json/parse-in-slices.ts'
import {
  ProviderFailure, emptyBodyError, invalidResponse, usageOfError, webPageError, withUsage
} from '../providers/provider-failure.ts'
import { sseDecoder } from '../wire/sse-decoder.ts'
import { usageIn, type AnyEvent } from './open-response.ts'
import type { StreamReader } from '../providers/provider.ts'

/**
 * Runs a reader over a response.
 *
 * @param bytes the response, if its reader parses it
 */
export function readOrRefuse<T> (read: () => T, bytes?: Buffer): T {
  try {
    return read()
  } catch (thrown) {
    const error = readerError(thrown)
    const isUnreadable = error instanceof GatewayError && error.code === 'upstream_invalid_response'
    throw bytes !== undefined && isUnreadable ? unreadable(bytes, error) : error
  }
}

/** Returns the error of a reader. An unexpected one is the response's fault: 502, not 500. */
export function readerError (error: unknown): unknown {
  return error instanceof GatewayError || error instanceof ProviderFailure ? error : invalidResponse(error)
}

/** Runs a reader over the rest of an ended stream: an unreadable message was cut off. */
export function asInterrupted<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'upstream_invalid_response') throw error
    throw new GatewayError('upstream_stream_interrupted', { cause: error })
  }
}

/** Bytes of a stream read per tick of the event loop, like from a socket. */
const streamBytes = 64 * 1024

/**
 * Reads an event stream to its end if it arrives without being requested.
 *
 * @param maxBytes of one event
 */
export async function readCompleteStream<E extends AnyEvent> (
  bytes: Buffer,
  reader: StreamReader<E>,
  maxBytes: number
): Promise<E[]> {
  const messages = sseDecoder(maxBytes)
  const events: E[] = []
  const read = (complete: ReturnType<typeof messages.push>): void => {
    for (const message of complete) {
      if (!reader.isDone) reader.read(message, events)
    }
  }
  try {
    for (let at = 0; at < bytes.length && !reader.isDone; at += streamBytes) {
      if (at > 0) await yieldFairly()
      readOrRefuse(() => read(messages.push(bytes.subarray(at, at + streamBytes))))
    }
    readOrRefuse(() => {
      if (!reader.isDone) asInterrupted(() => read(messages.end()))
      if (!reader.isDone) reader.end(events)
    })
  } catch (error) {
    throw withUsage(error, usageOfError(error) ?? usageIn(events))
  }
  return events
}

/** Returns true for a body that begins like an event stream. */
export function looksLikeStream (bytes: Buffer): boolean {
  return /^\ufeff?\s*(?:data|event|id|retry)?:/.test(bytes.toString('utf8', 0, 200))
}

/**
 * Returns the JSON after comments of an event stream, with which servers keep a connection alive while they
 * work on a complete answer; any other text unchanged.
 */
export function withoutComments (bytes: Buffer): Buffer {
  let at = blanksAt(bytes, 0)
  if (bytes[at] !== colon) return bytes
  while (bytes[at] === colon) {
    const end = bytes.indexOf('\n', at)
    at = end === -1 ? bytes.length : blanksAt(bytes, end)
  }
  const isJson = bytes[at] === openObject || bytes[at] === openList
  return isJson ? bytes.subarray(at) : bytes
}

/** Returns the index after spaces, tabs and line ends. */
function blanksAt (bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(bytes[at])) at++
  return at
}

/** Larger texts are parsed in slices. */
const parsedAtOnceBytes = 256 * 1024
/**
 * Maximum numbers in a complete response; property names, strings, objects and lists count as eight. Roughly
 * 8,000 tokens with 20 logprobs each; some hundred megabytes in memory.
 */
const maxParseCost = 8_000_000
const countedBytes = 1024 * 1024

/**
 * Parses a complete response, a large one in slices.
 *
 * @throws GatewayError `upstream_invalid_response`; for a large response, the promise rejects with it
 */
export function parseResponseBytes (bytes: Buffer): unknown {
  if (bytes.length > parsedAtOnceBytes) return parseLarge(withoutMark(bytes))
  const text = bytes.toString()
  try {
    return parseBounded(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (cause) {
    throw unreadable(bytes, invalidResponse(cause))
  }
}

/** Returns the error for a page or an empty response, or otherwise the given one. */
function unreadable (bytes: Buffer, otherwise: GatewayError): GatewayError {
  const start = bytes.toString('utf8', 0, countedBytes)
  if (/^\s*</.test(start)) return webPageError()
  return start.trim() === '' ? emptyBodyError() : otherwise
}

async function parseLarge (bytes: Buffer): Promise<unknown> {
  try {
    const counter = new ValueCounter(Infinity)
    for (let at = 0; at < bytes.length; at += countedBytes) {
      counter.push(bytes.subarray(at, at + countedBytes))
      if (counter.parseCost > maxParseCost) throw new SyntaxError('too many values')
      await yieldFairly()
    }
    return await parseInSlices(bytes, maxDepth)
  } catch (cause) {
    throw unreadable(bytes, invalidResponse(cause))
  }
}

function withoutMark (bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}
