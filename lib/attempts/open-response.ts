/** Open responses: the memory that they hold, and how those without an event stream are read. */

import { GatewayError } from '../core/errors.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { parseBounded, maxDepth, ValueCounter } from '../json/parse-bounded.ts'
import { parseInSlices } from '../json/parse-in-slices.ts'
import {
  ProviderFailure, emptyBodyError, invalidResponse, usageOfError, webPageError, withUsage
} from '../providers/provider-failure.ts'
import { reportedBy, type ReportedUsage, type Usage } from '../core/usage.ts'
import { sseDecoder } from '../wire/sse-decoder.ts'
import type { Route } from '../core/route.ts'
import type { StreamReader, UpstreamBody } from '../providers/provider.ts'

/** The fields of events that matter for answers of every kind. */
export interface AnyEvent {
  readonly type: string
  readonly choice?: number
  readonly usage?: Usage
}

/** Returns the usage in events: that of the last report, which includes earlier ones. */
export function usageIn (events: readonly AnyEvent[]): Usage | undefined {
  return events.findLast(({ type }) => type === 'usage')?.usage
}

/** A response whose head has arrived, read by read. */
export interface OpenResponse<E> {
  /** The route that answers. */
  readonly route: Route
  /**
   * Returns the events of the next read; `undefined` after the last. Call it only after the previous call has
   * resolved.
   */
  readonly next: () => Promise<E[] | undefined>
  /** Returns true once `next` has returned all events of a complete response. */
  readonly isFinished: () => boolean
  /** Returns how many bytes of a stream have been read; 0 for a response that arrived complete. */
  readonly sizeBytes: () => number
  /** Returns the usage that the provider has reported so far. */
  readonly reported: () => ReportedUsage
  /** Releases the connection, even if the response was not read to its end. */
  readonly close: () => void
}

/** Wraps a response that has been read to its end. */
export function bufferedResponse<E extends AnyEvent> (route: Route, events: E[]): OpenResponse<E> {
  const reported = reportedBy(usageIn(events))
  let left: E[] | undefined = events
  return {
    route,
    next: () => {
      const given = left
      left = undefined
      return Promise.resolve(given)
    },
    isFinished: () => left === undefined,
    sizeBytes: () => 0,
    reported: () => reported,
    close: () => { /* the body has been read to its end */ }
  }
}

/** A response whose bytes are read as they arrive, such as a recording. */
export class PieceResponse<E extends AnyEvent> implements OpenResponse<E> {
  readonly route: Route
  readonly #body: UpstreamBody
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #read: (piece: Uint8Array, into: E[]) => void
  #first: IteratorResult<Uint8Array> | undefined
  #sizeBytes = 0
  #ended = false
  #usage: Usage | undefined

  constructor (route: Route, body: UpstreamBody, read: (piece: Uint8Array, into: E[]) => void) {
    this.route = route
    this.#body = body
    this.#pieces = body[Symbol.asyncIterator]()
    this.#read = read
  }

  /** Waits for the first piece, so that an earlier failure still becomes a status. */
  async begin (): Promise<void> {
    this.#first = await this.#pieces.next()
    if (this.#first.done === true) throw emptyBodyError()
  }

  async next (): Promise<E[] | undefined> {
    const { done, value } = this.#first ?? await this.#pieces.next()
    this.#first = undefined
    this.#ended = done === true
    if (done === true) return undefined
    this.#sizeBytes += value.length
    const events: E[] = []
    this.#read(value, events)
    this.#usage = usageIn(events) ?? this.#usage
    return events
  }

  isFinished (): boolean {
    return this.#ended
  }

  sizeBytes (): number {
    return this.#sizeBytes
  }

  reported (): ReportedUsage {
    return reportedBy(this.#usage)
  }

  close (): void {
    if (!this.#ended) this.#body.cancel()
  }
}

/** Bytes of an answer that are not counted: most answers are smaller, and open streams hold less. */
const uncountedBytes = 64 * 1024
/** An answer is in memory as received and, later, as printed for a caller who may not read it. */
const answerCopies = 2

/**
 * Counts the memory that one response holds in its call (`limits.body_memory_bytes`), until the call ends. It
 * counts the maximum held at any time: used memory is free again only after a garbage collection.
 */
export class AnswerMemory {
  readonly #take: ((bytes: number) => void) | undefined
  #heldBytes = 0
  #countedBytes = uncountedBytes

  /**
   * @param take counts bytes, and throws where there is no memory for them; absent for a call without a limit
   */
  constructor (take: ((bytes: number) => void) | undefined) {
    this.#take = take
  }

  /**
   * Adds bytes of the answer that are kept.
   *
   * @throws GatewayError `overloaded` while other calls use the memory; `upstream_invalid_response` for more
   *   than one key may ever use
   */
  readonly hold = (bytes: number): void => {
    this.#heldBytes += bytes
    if (this.#heldBytes <= this.#countedBytes) return
    const more = this.#heldBytes - this.#countedBytes
    this.#countedBytes = this.#heldBytes
    try {
      this.#take?.(answerCopies * more)
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'file_too_large') throw error
      const message = "The provider's answer needs more memory than one API key may use."
      throw new GatewayError('upstream_invalid_response', { message, fault: 'caller' })
    }
  }

  /** Notes that nothing is held any more, as after each complete event of a stream. */
  release (): void {
    this.#heldBytes = 0
  }
}

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

/** Bytes of a stream read per turn of the event loop, like from a socket. */
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
      if (!reader.done) reader.read(message, events)
    }
  }
  try {
    for (let at = 0; at < bytes.length && !reader.done; at += streamBytes) {
      if (at > 0) await yieldFairly()
      readOrRefuse(() => read(messages.push(bytes.subarray(at, at + streamBytes))))
    }
    readOrRefuse(() => {
      if (!reader.done) asInterrupted(() => read(messages.end()))
      if (!reader.done) reader.end(events)
    })
  } catch (error) {
    throw withUsage(error, usageOfError(error) ?? usageIn(events))
  }
  return events
}

export const openingBrace = 0x7b
const [openingBracket, colon] = [0x5b, 0x3a]

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
  const isJson = bytes[at] === openingBrace || bytes[at] === openingBracket
  return isJson ? bytes.subarray(at) : bytes
}

/** Returns the index after spaces, tabs and line ends. */
function blanksAt (bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d) at++
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
