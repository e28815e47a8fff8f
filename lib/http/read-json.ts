/**
 * Reads a JSON body within limits and parses it, a large one in slices. It does not use koa-body, which costs
 * a tenth to a fifth more of a small request, would read before authentication, and answers hostile bodies in
 * its own words.
 */

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import { sliceBytes, type CallRecord } from '../core/record.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { shorten } from '../text/shorten.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { ValueCounter, isDeeperThan, maxParseCost, valueBytes } from '../json/parse-bounded.ts'
import {
  NestedTooDeepError, NotUtf8Error, StringTooLongError, parseInSlices
} from '../json/parse-in-slices.ts'
import { inflater, type Inflater } from '../wire/inflater.ts'
import { joinInSlices } from '../wire/join-in-slices.ts'
import { SmallPieces, bytesPerPiece } from './small-pieces.ts'
import type { RequestBody } from './request-body.ts'
import type { CallSignal } from '../core/call-signal.ts'
import type { ByteAllowance } from './admission.ts'
import type { MediaStrings } from '../json/media-strings.ts'

/**
 * Bytes of a read: unthrottled, one socket can deliver 2 MB in one turn of the event loop, and twenty sockets
 * 40 MB.
 */
const bytesPerTurn = 64 * 1024
/**
 * Strings of at least this length are media in base64 or documents: `maxBytes` limits them, `maxTextBytes`
 * everything else.
 */
const largeStringBytes = 64 * 1024
/** A larger body compressed further than text can be is made to fill memory. */
const compressionCheckFromBytes = 1024 * 1024

export interface JsonLimits {
  /** After decompression. */
  readonly maxBytes: number
  /** After decompression, not counting long strings. */
  readonly maxTextBytes: number
  /** Maximum bytes of a string that is not media. */
  readonly maxStringBytes: number
  /** Maximum values; keys, strings, objects and lists count as eight. */
  readonly maxValues: number
  readonly maxDepth: number
  /** Maximum decompressed bytes of a large body for each byte received. */
  readonly maxCompression: number
  /** The field to name in the error for a body that is too large. */
  readonly largeField?: string | undefined
  readonly timeoutMs: number
  readonly signal: CallSignal
  /** Memory for the body. */
  readonly memory: ByteAllowance
  /**
   * Gets the size of the body; its `bodies`, if the body is to be kept, gets the body as received, but
   * without long strings.
   */
  readonly record?: Pick<CallRecord, 'bodyBytes'> & Partial<Pick<CallRecord, 'bodies'>>
  /**
   * Called with the decompressed bytes of the body and their parsed value; a large body may not be parsed
   * yet.
   */
  readonly onParsed?: (pieces: readonly Buffer[], body: ParsedBody) => void
  /** Returns the media extractor for a body of this size; `undefined` where media stay in the body. */
  readonly mediaOf?: ((bodyBytes: number) => MediaStrings | undefined) | undefined
}

/**
 * Reads the body to its end and parses it. A body that arrives in one piece is parsed in the same turn, with
 * no promise except the result.
 *
 * @throws GatewayError `unsupported_media_type`; `file_too_large` (as soon as it is known);
 *   `request_timeout`; `invalid_json` (also for nesting deeper than `maxDepth`); `overloaded` when there is
 *   no memory for it; or the signal's reason
 */
export function readJson (request: RequestBody, limits: JsonLimits): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { headers } = request
    const { 'content-type': contentType, 'content-encoding': encoding } = headers
    if (contentType !== undefined && contentType !== 'application/json') checkMediaType(contentType)
    const length = Number(headers['content-length'] ?? Number.NaN)
    if (length > limits.maxBytes) throw tooLarge(limits.maxBytes, limits.largeField)
    if (limits.signal.aborted) throw limits.signal.reason
    const inflate = encoding === undefined ? undefined : inflaterOf(encoding)
    const bodyBytes = inflate === undefined && length >= 0 ? length : undefined
    new BodyReader(request, inflate, bodyBytes, limits, resolve, reject).start()
  })
}

function checkMediaType (contentType: string): void {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (mediaType === 'application/json' || mediaType.endsWith('+json')) return
  throw new GatewayError('unsupported_media_type', {
    message: `The body is \`${shorten(mediaType)}\`; send it as application/json.`
  })
}

function inflaterOf (encoding: string): Inflater | undefined {
  const inflate = inflater(encoding)
  if (inflate !== undefined) return inflate === 'identity' ? undefined : inflate
  throw new GatewayError('unsupported_media_type', {
    message:
      'The content encoding of the body is not supported here. Send it plain, or as gzip, deflate or br; zstd needs a gateway on Node.js 22.15 or newer.'
  })
}

/** Set while more of the body is awaited. */
interface Listeners {
  readonly data: (bytes: Buffer) => void
  readonly end: () => void
  readonly error: (cause: unknown) => void
  readonly abort: () => void
  readonly timer: NodeJS.Timeout
}

/** Collects the bytes of one body within its limits. */
class BodyReader {
  readonly #request: RequestBody
  readonly #inflate: Inflater | undefined
  /** The length of the body, if the request states it. */
  readonly #bodyBytes: number | undefined
  readonly #limits: JsonLimits
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: unknown) => void
  /** Set while it listens for more. */
  #listeners: Listeners | undefined
  #pieces: Buffer[] = []
  /** Created with the second piece; what it holds is not in `#pieces` yet. */
  #smallPieces: SmallPieces | undefined
  #sizeBytes = 0
  #counter: ValueCounter | undefined
  #unpausedBytes = 0
  #settled = false

  constructor (
    request: RequestBody, inflate: Inflater | undefined, bodyBytes: number | undefined, limits: JsonLimits,
    resolve: (value: unknown) => void, reject: (error: unknown) => void
  ) {
    this.#request = request
    this.#inflate = inflate
    this.#bodyBytes = bodyBytes
    this.#limits = limits
    this.#resolve = resolve
    this.#reject = reject
  }

  /**
   * A body usually arrives together with its head, and is buffered once `node:http` has parsed both. No
   * listener is needed then.
   */
  start (): void {
    if (this.#inflate !== undefined) return this.#listen()
    queueMicrotask(() => {
      const bytes = this.#request.read() as Buffer | null // no encoding is set
      if (bytes !== null) this.#onData(bytes)
      if (!this.#settled) this.#listen()
    })
  }

  #listen (): void {
    const [request, inflate] = [this.#request, this.#inflate]
    const { signal, timeoutMs } = this.#limits
    if (signal.aborted) return this.#fail(signal.reason)
    const listeners: Listeners = {
      data: bytes => this.#onData(bytes),
      end: () => this.#onEnd(),
      error: cause => this.#fail(new GatewayError('invalid_json', { cause })),
      abort: () => this.#fail(signal.reason),
      timer: setTimeout(() => this.#fail(new GatewayError('request_timeout')), timeoutMs)
    }
    this.#listeners = listeners
    signal.addEventListener('abort', listeners.abort, { once: true })
    const source = inflate ?? request
    source.on('data', listeners.data).on('end', listeners.end).on('error', listeners.error)
    if (inflate !== undefined) request.on('error', listeners.error).pipe(inflate)
  }

  #onData (bytes: Buffer): void {
    this.#sizeBytes += bytes.length
    try {
      this.#check(bytes)
    } catch (error) {
      return this.#fail(error)
    }
    if (bytes.length === this.#sizeBytes) this.#pieces.push(bytes)
    else
      this.#small.push(
        bytes,
        this.#bodyBytes === undefined ? undefined : this.#bodyBytes - this.#sizeBytes + bytes.length
      )
    if (this.#sizeBytes === this.#bodyBytes) return this.#onEnd() // `end` would come a turn later
    this.#unpausedBytes += bytes.length + bytesPerPiece
    if (this.#unpausedBytes >= bytesPerTurn) void this.#pause()
  }

  get #small (): SmallPieces {
    return this.#smallPieces ??= new SmallPieces(piece => { this.#pieces.push(piece) })
  }

  #onEnd (): void {
    if (this.#settled) return
    this.#smallPieces?.flush()
    const pieces = this.#pieces
    let body: ParsedBody
    try {
      this.#limits.record?.bodies?.takeRequest(pieces)
      this.#checkComplete()
      const { maxDepth, maxStringBytes, mediaOf } = this.#limits
      body = parseBody(pieces, { maxDepth, maxStringBytes }, mediaOf?.(this.#sizeBytes))
    } catch (error) {
      this.#settle()
      this.#reject(error)
      return
    }
    const { record, onParsed } = this.#limits
    if (record !== undefined) record.bodyBytes = this.#sizeBytes
    onParsed?.(this.#pieces, body)
    this.#settle()
    this.#resolve(body.value)
  }

  async #pause (): Promise<void> {
    const source = this.#inflate ?? this.#request
    this.#unpausedBytes = 0
    source.pause()
    await yieldFairly()
    if (!this.#settled) source.resume()
  }

  #check (piece: Buffer): void {
    const [limits, inflate, sizeBytes] = [this.#limits, this.#inflate, this.#sizeBytes]
    if (sizeBytes > limits.maxBytes) throw tooLarge(limits.maxBytes, limits.largeField)
    if (
      sizeBytes > compressionCheckFromBytes &&
      inflate !== undefined &&
      sizeBytes > limits.maxCompression * inflate.bytesWritten
    ) {
      throw new GatewayError('file_too_large', {
        message: `The body is compressed more than ${limits.maxCompression}:1.`
      })
    }
    // Twice: as bytes, and as the parsed text or the decoded medium.
    limits.memory.take(2 * piece.length)
    if (this.#counter === undefined) {
      // A body this small has neither long strings nor too many values.
      if (sizeBytes <= largeStringBytes && maxParseCost(sizeBytes) <= limits.maxValues) return
      this.#smallPieces?.flush()
      this.#counter = counted(this.#pieces)
    }
    const counter = this.#counter
    counter.push(piece)
    if (counter.parseCost > limits.maxValues) throw tooManyValues(limits)
    if (
      sizeBytes - counter.largeStringBytes >
      limits.maxTextBytes + (counter.isInString ? largeStringBytes : 0)
    ) {
      throw tooLarge(limits.maxTextBytes)
    }
  }

  #checkComplete (): void {
    const [limits, counter, sizeBytes] = [this.#limits, this.#counter, this.#sizeBytes]
    if (sizeBytes - (counter?.largeStringBytes ?? 0) > limits.maxTextBytes) {
      throw tooLarge(limits.maxTextBytes)
    }
    const atMost = sizeBytes * valueBytes
    if (counter === undefined && limits.memory.leavesHalfFree(atMost)) return limits.memory.take(atMost)
    const values = counter ?? counted(this.#pieces)
    if (values.parseCost > limits.maxValues) throw tooManyValues(limits)
    limits.memory.take(values.count * valueBytes)
  }

  #fail (error: unknown): void {
    if (this.#settled) return
    this.#settle()
    this.#inflate?.destroy()
    this.#request.pause()
    this.#reject(error)
  }

  #settle (): void {
    const [request, inflate, listeners] = [this.#request, this.#inflate, this.#listeners]
    this.#settled = true
    this.#pieces = [] // listeners that stay attached to the request must not retain the text
    this.#smallPieces = undefined
    if (listeners === undefined) return
    this.#listeners = undefined
    clearTimeout(listeners.timer)
    this.#limits.signal.removeEventListener('abort', listeners.abort)
    for (const stream of inflate === undefined ? [request] : [inflate, request]) {
      stream.off('error', listeners.error).on('error', ignoreLateError)
    }
    const source = inflate ?? request
    source.off('data', listeners.data).off('end', listeners.end)
    if (inflate !== undefined) request.unpipe(inflate)
  }
}

/**
 * Ignores an error of a socket after its body was read or abandoned. Node.js requires a listener, and a
 * closure of the reader would retain the text until the end of the answer.
 */
function ignoreLateError (): void {
  // The end of the connection ends the call.
}

function tooLarge (maxBytes: number, param?: string): GatewayError {
  return new GatewayError('file_too_large', {
    message: `The body is larger than ${formatMegabytes(maxBytes)}.`,
    param
  })
}

function tooManyValues ({ maxValues }: JsonLimits): GatewayError {
  return new GatewayError('too_many_values', {
    message: `The body has more than ${maxValues} values (\`limits.json_values\`); keys, strings, objects and lists each count as eight.`
  })
}

function counted (pieces: readonly Buffer[]): ValueCounter {
  const counter = new ValueCounter(largeStringBytes)
  for (const piece of pieces) counter.push(piece)
  return counter
}

export interface ParsedBody {
  /** Returns a promise for a large body. */
  readonly value: unknown
  /** The text of a body that is not large. */
  readonly text?: string
}

export interface BodyLimits {
  /** Maximum nesting inside the body, which itself does not count. */
  readonly maxDepth: number
  /** Maximum bytes of a string that is not media. */
  readonly maxStringBytes: number
}

/**
 * @param media extracts the media of a large body
 * @throws GatewayError `invalid_json`, `file_too_large`; for a large body, the promise rejects
 */
export function parseBody (pieces: readonly Buffer[], limits: BodyLimits, media?: MediaStrings): ParsedBody {
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  if (sizeBytes > sliceBytes) return { value: parseLarge(pieces, limits, media) }
  const [first] = pieces
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  // Lenient decoding would send the model another text.
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_json', { cause, message: invalidJsonMessage(cause, text) })
  }
  if (isDeeperThan(value, limits.maxDepth + 1)) throw tooDeep(limits)
  return { value, text }
}

/** Describes where a body stops being JSON, by the position that V8 reports, without quoting it. */
function invalidJsonMessage (cause: unknown, text: string): string {
  if (text.trim() === '') return 'The body is empty. Send a JSON object.'
  const message = cause instanceof Error ? cause.message : ''
  const at = /at position (\d+)/.exec(message)?.[1]
  if (at === undefined) {
    return /end of JSON/.test(message)
      ? `The body is not JSON: it ends too early, after ${text.length} characters.`
      : 'The body is not JSON.'
  }
  const before = text.slice(0, Number(at)).split('\n')
  const reason =
    /^(?:Bad|Expected|Exponent|No number|Unterminated|Unexpected (?:non-whitespace|end))(?:(?! in JSON| after JSON| or '| at position).)*/.exec(
      message
    )?.[0]
  return `The body is not JSON: ${reason === undefined ? 'unexpected character' : reason.charAt(0).toLowerCase() + reason.slice(1)} at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}.`
}

/** Parses over several turns of the event loop; validating and sending the body takes another. */
async function parseLarge (
  pieces: readonly Buffer[],
  limits: BodyLimits,
  media: MediaStrings | undefined
): Promise<unknown> {
  const { maxDepth, maxStringBytes } = limits
  try {
    const value = await parseInSlices(await joinInSlices(pieces), maxDepth + 1, { media, maxStringBytes })
    await yieldFairly()
    return value
  } catch (cause) {
    if (cause instanceof NotUtf8Error) throw notUtf8()
    if (cause instanceof StringTooLongError) throw stringTooLong(limits)
    throw cause instanceof NestedTooDeepError ? tooDeep(limits) : new GatewayError('invalid_json', { cause })
  }
}

function notUtf8 (): GatewayError {
  return new GatewayError('invalid_json', { message: 'The body is not UTF-8.' })
}

function stringTooLong ({ maxStringBytes }: BodyLimits): GatewayError {
  return new GatewayError('file_too_large', {
    message: `The body has a string of more than ${formatMegabytes(maxStringBytes)} that is not base64.`
  })
}

function tooDeep ({ maxDepth }: BodyLimits): GatewayError {
  return new GatewayError('invalid_json', { message: `The body is nested deeper than ${maxDepth} levels.` })
}
