/**
 * Reads a JSON body within limits. Read by hand rather than through koa-body, which costs a tenth
 * to a fifth more of a small request, would read before authentication, and answers hostile
 * bodies in its own words.
 */

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { isDeeperThan } from '../json/depth.ts'
import { ValueCounter } from '../json/value-counter.ts'
import { inflater, type Inflater } from '../wire/inflater.ts'
import type { IncomingMessage } from 'node:http'
import type { CallSignal } from '../core/call-signal.ts'
import type { Reservation } from './admission.ts'
import type { LargeStringExtractor } from '../json/extract-large-strings.ts'

/** A socket would hand over two megabytes in a turn of the event loop, and twenty sockets forty. */
const bytesPerTurn = 64 * 1024
/** Strings from this length on are media in base64 or documents: `maxBytes` bounds them, `maxTextBytes` all else. */
const largeStringBytes = 64 * 1024
/** Decoding, parsing and printing a text of this length takes a few milliseconds. */
const largeTextBytes = 2 * 1024 * 1024
/** Smaller bodies are not counted unless memory is short. */
const uncountedBytes = 16 * 1024
/** Memory of one value or key once parsed: distinct keys of large objects take most. */
const valueBytes = 128
/** A larger body that was compressed further than this is made to fill memory, not to save time. */
const maxCompression = 20
const compressionCheckFromBytes = 1024 * 1024

export interface JsonLimits {
  /** After decompression. */
  readonly maxBytes: number
  /** After decompression, long strings not counted. */
  readonly maxTextBytes: number
  /** Values; keys, strings, objects and lists weigh eight. */
  readonly maxValues: number
  readonly maxDepth: number
  /** The field to name in the error of a body that is too large. */
  readonly largeField?: string
  readonly timeoutMs: number
  readonly signal: CallSignal
  /** The memory for bodies that the body takes. */
  readonly memory: Reservation
  /** Takes the long strings out of the body; a placeholder is left for each. */
  readonly largeStrings?: LargeStringExtractor
}

/**
 * Reads the body to its end and parses it.
 *
 * @throws GatewayError `unsupported_media_type`, `file_too_large` (as soon as it is known),
 *   `request_timeout`, `invalid_json` (also for nesting deeper than `maxDepth`), `overloaded` when
 *   there is no memory for it, or the signal's reason
 */
export async function readJson (request: IncomingMessage, limits: JsonLimits): Promise<unknown> {
  const { headers } = request
  const mediaType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== undefined && mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
    throw new GatewayError('unsupported_media_type', {
      message: `The body is \`${mediaType.slice(0, 100)}\`; send it as application/json.`
    })
  }
  if (Number(headers['content-length']) > limits.maxBytes) throw tooLarge(limits.maxBytes, limits.largeField)
  const inflate = inflaterOf(headers['content-encoding'])
  const length = Number(headers['content-length'] ?? Number.NaN)
  limits.largeStrings?.expect(inflate === undefined && length >= 0 ? length : limits.maxBytes)
  const decoded = decodeUtf8(await readBytes(request, inflate, limits))
  const text = typeof decoded === 'object' ? await decoded : decoded
  if (text === undefined) throw new GatewayError('invalid_json', { message: 'The body is not UTF-8.' })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_json', { cause })
  }
  // The body itself is no level.
  if (isDeeperThan(value, limits.maxDepth + 1)) {
    throw new GatewayError('invalid_json', { message: `The body is nested deeper than ${limits.maxDepth} levels.` })
  }
  // What validates and sends a large body takes a turn of its own.
  if (text.length > largeTextBytes) await yieldFairly()
  return value
}

function inflaterOf (encoding: string | undefined): Inflater | undefined {
  const inflate = inflater(encoding)
  if (inflate !== undefined) return inflate === 'identity' ? undefined : inflate
  throw new GatewayError('unsupported_media_type', { message: 'The content encoding of the body is not supported.' })
}

async function readBytes (
  request: IncomingMessage, inflate: Inflater | undefined, limits: JsonLimits
): Promise<readonly Buffer[]> {
  const source = inflate ?? request
  const { signal, largeStrings } = limits
  return await new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let sizeBytes = 0
    let counter: ValueCounter | undefined
    const check = (piece: Buffer): void => {
      if (sizeBytes > limits.maxBytes) throw tooLarge(limits.maxBytes, limits.largeField)
      if (sizeBytes > compressionCheckFromBytes && inflate !== undefined && sizeBytes > maxCompression * inflate.bytesWritten) {
        throw new GatewayError('file_too_large', { message: `The body is compressed more than ${maxCompression}:1.` })
      }
      // Twice: as bytes, and as the text that is parsed. Long strings that are taken out stay bytes.
      limits.memory.take(largeStrings === undefined ? 2 * piece.length : piece.length)
      if (counter === undefined) {
        if (largeStrings === undefined && sizeBytes <= uncountedBytes) return
        counter = new ValueCounter(largeStringBytes)
        for (const earlier of pieces) counter.push(earlier)
      }
      counter.push(piece)
      if (counter.parseCost > limits.maxValues) throw tooManyValues(limits)
      if (sizeBytes - counter.largeStringBytes > limits.maxTextBytes + (counter.isInString ? largeStringBytes : 0)) throw tooLarge(limits.maxTextBytes)
    }
    const checkComplete = (): void => {
      if (sizeBytes - (counter?.largeStringBytes ?? 0) > limits.maxTextBytes) throw tooLarge(limits.maxTextBytes)
      const atMost = sizeBytes * valueBytes
      if (counter === undefined && limits.memory.isCheap(atMost)) return limits.memory.take(atMost)
      const values = counter ?? counted(pieces)
      if (values.parseCost > limits.maxValues) throw tooManyValues(limits)
      limits.memory.take(values.count * valueBytes)
    }
    const timer = setTimeout(() => settle(new GatewayError('request_timeout')), limits.timeoutMs)
    const onAbort = (): void => settle(signal.reason)
    let unpaused = 0
    let settled = false
    const pause = async (): Promise<void> => {
      unpaused = 0
      source.pause()
      await yieldFairly()
      if (!settled) source.resume()
    }
    const onData = (bytes: Buffer): void => {
      sizeBytes += bytes.length
      try {
        check(bytes)
      } catch (error) {
        return settle(error)
      }
      if (largeStrings === undefined) pieces.push(bytes)
      else largeStrings.push(bytes)
      unpaused += bytes.length
      if (unpaused >= bytesPerTurn) void pause()
    }
    const onEnd = (): void => {
      try {
        checkComplete()
      } catch (error) {
        return settle(error)
      }
      settle(undefined)
    }
    const onError = (cause: unknown): void => settle(new GatewayError('invalid_json', { cause }))
    const settle = (error: unknown): void => {
      clearTimeout(timer)
      settled = true
      signal.removeEventListener('abort', onAbort)
      for (const stream of [source, request]) stream.off('error', onError).on('error', ignoreLateError)
      source.off('data', onData).off('end', onEnd)
      if (inflate !== undefined) request.unpipe(inflate)
      if (error !== undefined) {
        inflate?.destroy()
        request.pause()
        reject(error)
        return
      }
      resolve(largeStrings?.rest ?? pieces)
    }
    if (signal.aborted) return settle(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    source.on('data', onData).on('end', onEnd).on('error', onError)
    if (inflate !== undefined) request.on('error', onError).pipe(inflate)
  })
}

/**
 * Ignores an error of a socket after its body was read or given up: Node wants a listener, and one
 * that is a closure of the reader would keep the text to the end of the answer.
 */
function ignoreLateError (): void {
  // The end of the connection ends the call.
}

/** Returns `undefined` for what is not UTF-8: decoded leniently, a model would be asked something else. */
function decodeUtf8 (pieces: readonly Buffer[]): string | Promise<string> | undefined {
  const [first] = pieces
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  if (!isUtf8(bytes)) return undefined
  return bytes.length <= largeTextBytes ? bytes.toString() : decodeInParts(bytes)
}

/** Decodes a part per turn of the event loop: beyond ASCII, a megabyte takes 4 ms. */
async function decodeInParts (bytes: Buffer): Promise<string> {
  let text = ''
  for (let from = 0, to = 0; from < bytes.length; from = to) {
    to = Math.min(from + largeTextBytes, bytes.length)
    while (isContinuation(bytes[to])) to--
    text += bytes.toString('utf8', from, to)
    await yieldFairly()
  }
  return text
}

/** Tells whether a byte is one of a character of several, and not its first. */
function isContinuation (byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function tooLarge (maxBytes: number, param?: string): GatewayError {
  return new GatewayError('file_too_large', { message: `The body is larger than ${formatMegabytes(maxBytes)}.`, param })
}

function tooManyValues ({ maxValues }: JsonLimits): GatewayError {
  return new GatewayError('file_too_large', { message: `The body has more than ${maxValues} values; keys, strings, objects and lists count as eight.` })
}

function counted (pieces: readonly Buffer[]): ValueCounter {
  const counter = new ValueCounter(largeStringBytes)
  for (const piece of pieces) counter.push(piece)
  return counter
}
