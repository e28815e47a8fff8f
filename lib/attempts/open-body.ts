/** Opens the body of a successful response, as its adapter reads it: complete, in pieces, or as a stream. */

import { yieldFairly } from '../async/yield-fairly.ts'
import { reportedBy, type ReportedUsage, type Usage } from '../core/usage.ts'
import { invalidResponse, usageOfError, withUsage } from '../providers/provider-failure.ts'
import { sseDecoder } from '../wire/sse-decoder.ts'
import { StreamResponse } from './stream-response.ts'
import {
  AnswerMemory,
  asInterrupted,
  bufferedResponse,
  parseResponseBytes,
  readOrRefuse,
  usageIn,
  type AnyEvent,
  type OpenResponse
} from './open-response.ts'
import type { Route } from '../core/route.ts'
import type { Call } from '../core/call.ts'
import type { SlowStreamPolicy } from './stream-pace.ts'
import type { Adapter, BodyFormat, Provider, StreamReader, UpstreamBody } from '../providers/provider.ts'

/** The limits of a response. */
export interface ResponseLimits {
  /** Maximum bytes of a complete response. */
  readonly answerBytes: number
  /** Maximum size of an event of a stream in UTF-16 code units, each of which takes at least one byte. */
  readonly eventBytes: number
  /** How long to wait for visible output before other events go out without it; default 10 s. */
  readonly holdMs?: number
}

/** Where a request is sent, and how its response is read. */
export interface UpstreamTarget<R, E> {
  readonly provider: Provider
  readonly adapter: Adapter<R, E>
  readonly limits: ResponseLimits
  /** Decides about streams slower than their provider's `slow_stream` allows. Default: they continue. */
  readonly tryGiveUp?: SlowStreamPolicy['tryGiveUp'] | undefined
}

/**
 * Reads a complete body to its end, a stream up to its first visible output, and bytes in pieces up to the
 * first.
 *
 * @throws ProviderFailure for an error in the body; GatewayError for a body that cannot be read
 */
export async function openBody<E extends AnyEvent> (
  body: UpstreamBody,
  reader: BodyFormat<E>,
  route: Route,
  { record, takeMemory }: Pick<Call, 'record' | 'takeMemory'>,
  { provider, limits, tryGiveUp }: Omit<UpstreamTarget<never, E>, 'adapter'>
): Promise<OpenResponse<E>> {
  const { answerBytes, eventBytes, holdMs = 10_000 } = limits
  const memory = new AnswerMemory(takeMemory)
  switch (reader.as) {
    case 'json': {
      let bytes = await body.buffer(answerBytes, memory.hold)
      if (bytes[0] !== openingBrace) {
        bytes = withoutComments(bytes)
        if (reader.sse !== undefined && looksLikeStream(bytes)) {
          const maxBytes = Math.max(eventBytes, answerBytes)
          return bufferedResponse(route, await readCompleteStream(bytes, reader.sse(), maxBytes))
        }
      }
      record.routing.answerBytes = bytes.length
      const value = await parseResponseBytes(bytes)
      return bufferedResponse(route, readOrRefuse(() => reader.read(value, bytes)))
    }
    case 'text': {
      const bytes = await body.buffer(answerBytes, memory.hold)
      return bufferedResponse(route, readOrRefuse(() => reader.read(bytes.toString())))
    }
    case 'bytes': {
      const bytes = await body.buffer(answerBytes, memory.hold)
      return bufferedResponse(route, readOrRefuse(() => reader.read(bytes)))
    }
    case 'pieces': {
      const response = new PieceResponse(route, body, reader.read)
      await response.begin()
      return response
    }
    case 'sse': {
      const response = new StreamResponse(body, reader.reader, {
        route,
        json: async bytes => {
          const value = await parseResponseBytes(bytes)
          return readOrRefuse(() => reader.json(value))
        },
        jsonBytes: answerBytes,
        eventBytes,
        decoder: reader.decoder,
        memory,
        idleEventsMs: provider.timeouts.idleEventsMs,
        slow:
          provider.slowStream === undefined || tryGiveUp === undefined
            ? undefined
            : { ...provider.slowStream, tryGiveUp }
      })
      await response.untilVisible(holdMs)
      return response
    }
  }
}

/** A response whose bytes are read as they arrive, such as a recording. */
class PieceResponse<E extends AnyEvent> implements OpenResponse<E> {
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
    if (this.#first.done === true) throw invalidResponse('empty body')
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

/** Bytes of a stream read per turn of the event loop, like from a socket. */
const streamBytes = 64 * 1024

/**
 * Reads an event stream to its end if it arrives without being requested.
 *
 * @param maxBytes of one event
 */
async function readCompleteStream<E extends AnyEvent> (
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

const [openingBrace, openingBracket, colon] = [0x7b, 0x5b, 0x3a]

/** Returns true for a body that begins like an event stream. */
function looksLikeStream (bytes: Buffer): boolean {
  return /^\ufeff?\s*(?:data|event|id|retry)?:/.test(bytes.toString('utf8', 0, 200))
}

/**
 * Returns the JSON after comments of an event stream, with which servers keep a connection alive while they
 * work on a complete answer; any other text unchanged.
 */
function withoutComments (bytes: Buffer): Buffer {
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
