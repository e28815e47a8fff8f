/**
 * Reads a JSON body within limits; `parse-body` parses it. It does not use koa-body, which takes 10 to
 * 20 % longer for a small request, would read before authentication, and answers hostile bodies in its own
 * words.
 */

import { GatewayError } from '../core/errors.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { shorten } from '../text/shorten.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { ValueCounter, worstParseCost, valueBytes } from '../json/parse-bounded.ts'
import { inflater, type Inflater } from '../wire/inflater.ts'
import { parseBody, type ParsedBody } from './parse-body.ts'
import { SmallPieces, bytesPerPiece } from './small-pieces.ts'
import type { RequestBody } from './request-body.ts'
import type { CallSignal } from '../core/call.ts'
import type { CallRecord } from '../core/record.ts'
import type { ByteAllowance } from './admission.ts'
import type { MediaStrings } from '../json/media-strings.ts'

/** Bytes read before other calls get a turn: a socket can deliver 2 MB in one tick. */
const maxBytesPerTick = 64 * 1024
/**
 * Strings of at least this length are media in base64 or documents: `maxBytes` limits them, `maxTextBytes`
 * everything else.
 */
const largeStringBytes = 64 * 1024
/** A larger body compressed further than text can be is made to fill memory. */
const compressionCheckFromBytes = 1024 * 1024

export interface ReadJsonOptions {
  /** After decompression. */
  readonly maxBytes: number
  /** After decompression, not counting long strings. */
  readonly maxTextBytes: number
  /** Maximum bytes of a string that is not media. */
  readonly maxStringBytes: number
  /** Maximum values; property names, strings, objects and lists count as eight. */
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
  readonly record?: Pick<CallRecord, 'request' | 'bodies'>
  /** Called with the decompressed bytes of the body and, unless it is large, their text. */
  readonly onRead?: (pieces: readonly Buffer[], text: string | undefined) => void
  /** Returns the media extractor for a body of this size; `undefined` where media stay in the body. */
  readonly mediaOf?: ((bodyBytes: number) => MediaStrings | undefined) | undefined
}

/**
 * Reads the body to its end and parses it. A body that arrives in one piece is parsed in the same tick, with
 * no promise except the result.
 *
 * @throws GatewayError `unsupported_media_type`; `file_too_large` (as soon as it is known);
 *   `request_timeout`; `invalid_json` (also for nesting deeper than `maxDepth`); `too_many_values`;
 *   `overloaded` when there is no memory for it; or the signal's reason
 */
export function readJson (request: RequestBody, options: ReadJsonOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { 'content-type': contentType, 'content-length': length } = request.headers
    if (contentType !== undefined && contentType !== 'application/json') checkMediaType(contentType)
    if (Number(length) > options.maxBytes) throw tooLarge(options.maxBytes, options.largeField)
    if (options.signal.aborted) throw options.signal.reason
    new JsonBodyReader(request, options, { resolve, reject }).start()
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

/** Settles the promise of a reader. */
interface Outcome {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
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
class JsonBodyReader {
  readonly #request: RequestBody
  readonly #inflate: Inflater | undefined
  /** The length of the body, if the request states it. */
  readonly #bodyBytes: number | undefined
  readonly #options: ReadJsonOptions
  readonly #outcome: Outcome
  /** Set while it listens for more. */
  #listeners: Listeners | undefined
  #pieces: Buffer[] = []
  /** Created with the second piece; what it holds is not in `#pieces` yet. */
  #smallPieces: SmallPieces | undefined
  #sizeBytes = 0
  #counter: ValueCounter | undefined
  #unpausedBytes = 0
  #isSettled = false

  /** @throws GatewayError `unsupported_media_type` for an unknown content encoding */
  constructor (request: RequestBody, options: ReadJsonOptions, outcome: Outcome) {
    const { 'content-encoding': encoding, 'content-length': length } = request.headers
    const statedBytes = Number(length)
    this.#request = request
    this.#inflate = encoding === undefined ? undefined : inflaterOf(encoding)
    this.#bodyBytes = this.#inflate === undefined && statedBytes >= 0 ? statedBytes : undefined
    this.#options = options
    this.#outcome = outcome
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
      if (!this.#isSettled) this.#listen()
    })
  }

  #unreadable (cause: unknown): GatewayError {
    const message = this.#inflate === undefined
      ? 'The body did not arrive completely.'
      : 'The body cannot be decompressed. Check that it is compressed as `Content-Encoding` says.'
    return new GatewayError('invalid_json', { cause, message })
  }

  #listen (): void {
    const [request, inflate] = [this.#request, this.#inflate]
    const { signal, timeoutMs } = this.#options
    if (signal.aborted) return this.#fail(signal.reason)
    const listeners: Listeners = {
      data: bytes => this.#onData(bytes),
      end: () => this.#onEnd(),
      error: cause => this.#fail(this.#unreadable(cause)),
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
      if (bytes.length === this.#sizeBytes) this.#pieces.push(bytes)
      else this.#small.push(bytes, this.#bodyBytes && this.#bodyBytes - this.#sizeBytes + bytes.length)
    } catch (error) {
      return this.#fail(error)
    }
    if (this.#sizeBytes === this.#bodyBytes) return this.#onEnd() // `end` would come a tick later
    this.#unpausedBytes += bytes.length + bytesPerPiece
    if (this.#unpausedBytes >= maxBytesPerTick) void this.#pause()
  }

  get #small (): SmallPieces {
    return this.#smallPieces ??= new SmallPieces(piece => { this.#pieces.push(piece) })
  }

  #onEnd (): void {
    if (this.#isSettled) return
    this.#smallPieces?.flush()
    const pieces = this.#pieces
    let body: ParsedBody
    try {
      this.#options.record?.bodies?.takeRequest(pieces)
      this.#checkComplete()
      const { maxDepth, maxStringBytes, mediaOf } = this.#options
      body = parseBody(pieces, { maxDepth, maxStringBytes }, mediaOf?.(this.#sizeBytes))
    } catch (error) {
      this.#settle()
      this.#outcome.reject(error)
      return
    }
    const { record, onRead } = this.#options
    if (record !== undefined) record.request.bodyBytes = this.#sizeBytes
    onRead?.(this.#pieces, body.text)
    this.#settle()
    this.#outcome.resolve(body.value)
  }

  async #pause (): Promise<void> {
    const source = this.#inflate ?? this.#request
    this.#unpausedBytes = 0
    source.pause()
    await yieldFairly()
    if (!this.#isSettled) source.resume()
  }

  #check (piece: Buffer): void {
    const [options, inflate, sizeBytes] = [this.#options, this.#inflate, this.#sizeBytes]
    if (sizeBytes > options.maxBytes) throw tooLarge(options.maxBytes, options.largeField)
    if (
      sizeBytes > compressionCheckFromBytes &&
      inflate !== undefined &&
      sizeBytes > options.maxCompression * inflate.bytesWritten
    ) {
      throw new GatewayError('file_too_large', {
        message: `The body is compressed more than ${options.maxCompression}:1.`
      })
    }
    // Twice: as bytes, and as the parsed text or the decoded medium.
    options.memory.take(2 * piece.length)
    if (this.#counter === undefined) {
      // A body this small has neither long strings nor too many values.
      if (sizeBytes <= largeStringBytes && worstParseCost(sizeBytes) <= options.maxValues) return
      this.#smallPieces?.flush()
      this.#counter = counted(this.#pieces)
    }
    const counter = this.#counter
    counter.push(piece)
    if (counter.parseCost > options.maxValues) throw tooManyValues(options)
    if (
      sizeBytes - counter.largeStringBytes >
      options.maxTextBytes + (counter.isInString ? largeStringBytes : 0)
    ) {
      throw tooLarge(options.maxTextBytes)
    }
  }

  #checkComplete (): void {
    const [options, counter, sizeBytes] = [this.#options, this.#counter, this.#sizeBytes]
    if (sizeBytes - (counter?.largeStringBytes ?? 0) > options.maxTextBytes) {
      throw tooLarge(options.maxTextBytes)
    }
    const atMost = sizeBytes * valueBytes
    if (counter === undefined && options.memory.leavesHalfFree(atMost)) return options.memory.take(atMost)
    const values = counter ?? counted(this.#pieces)
    if (values.parseCost > options.maxValues) throw tooManyValues(options)
    options.memory.take(values.count * valueBytes)
  }

  #fail (error: unknown): void {
    if (this.#isSettled) return
    this.#settle()
    this.#inflate?.destroy()
    this.#request.pause()
    this.#outcome.reject(error)
  }

  #settle (): void {
    const [request, inflate, listeners] = [this.#request, this.#inflate, this.#listeners]
    this.#isSettled = true
    this.#pieces = [] // listeners that stay attached to the request must not retain the text
    this.#smallPieces = undefined
    if (listeners === undefined) return
    this.#listeners = undefined
    clearTimeout(listeners.timer)
    this.#options.signal.removeEventListener('abort', listeners.abort)
    for (const stream of inflate === undefined ? [request] : [inflate, request]) {
      stream.off('error', listeners.error).on('error', ignoreLateError)
    }
    const source = inflate ?? request
    source.off('data', listeners.data).off('end', listeners.end)
    if (inflate !== undefined) request.unpipe(inflate)
  }
}

/**
 * Ignores an error of a socket whose body was read, or is no longer wanted. Node.js requires a listener, and
 * a closure of the reader would retain the text until the end of the call.
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

function tooManyValues ({ maxValues }: ReadJsonOptions): GatewayError {
  return new GatewayError('too_many_values', {
    message: `The body has more than ${maxValues} values (\`limits.json_values\`); property names, strings, objects and lists each count as eight.`
  })
}

function counted (pieces: readonly Buffer[]): ValueCounter {
  const counter = new ValueCounter(largeStringBytes)
  for (const piece of pieces) counter.push(piece)
  return counter
}
