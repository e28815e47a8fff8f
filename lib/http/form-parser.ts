/**
 * Splits a multipart form into its parts, for formidable, which keeps their fields and files.
 *
 * Formidable's own parser makes an event of each carriage return in a file and of each header, without a bound on
 * either: 2 MB of carriage returns take it 3 s, up to 250 ms of them at once. This one searches for the boundary and passes on what
 * lies before it, so that a part costs a few events for each piece of the body.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */

import { Stream, Writable } from 'node:stream'
import { GatewayError } from '../core/errors.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import type { ExtendedFormidableOptions } from 'koa-body'

/** Bounds on the headers of a part. */
const maxHeadBytes = 4096
const maxHeadLines = 16

/** A part as formidable takes it: emits `data` with its bytes, and `end`. */
interface Part extends Stream {
  name: string | null
  originalFilename: string | null
  mimetype: string | null
  isBase64: boolean
}

/** The members that a plugin for formidable uses; its types leave them out. */
interface ExtensibleForm {
  type: string
  ended: boolean
  _parser: Writable
  onPart: (part: Part) => void
  _maybeEnd: () => void
}

/** @param maxParts parts with and without names; one more is the error that `tooMany` makes */
export function formParserPlugin (boundary: string, maxParts: number, tooMany: () => GatewayError): NonNullable<ExtendedFormidableOptions['enabledPlugins']>[number] {
  return typedForm => {
    const form = typedForm as unknown as ExtensibleForm // as its own plugins use it
    form.type = 'multipart'
    // oxlint-disable-next-line no-underscore-dangle -- the name that formidable's plugins use
    form._parser = new FormParser(boundary, maxParts, tooMany, {
      onPart: part => form.onPart(part),
      onEnd: () => {
        form.ended = true
        form._maybeEnd() // oxlint-disable-line no-underscore-dangle -- likewise
      }
    })
  }
}

interface Receiver {
  readonly onPart: (part: Part) => void
  readonly onEnd: () => void
}

class FormParser extends Writable {
  readonly #delimiter: Buffer
  readonly #maxParts: number
  readonly #tooMany: () => GatewayError
  readonly #receiver: Receiver
  #place: 'data' | 'head' | 'end' = 'data'
  /** Bytes that may be the beginning of a boundary or of a head. The first boundary needs no line before it. */
  #rest: Buffer = Buffer.from('\r\n')
  /** None before the first boundary: what is there is no part of the form. */
  #part: Part | undefined
  #parts = 0
  #base64 = ''

  constructor (boundary: string, maxParts: number, tooMany: () => GatewayError, receiver: Receiver) {
    super()
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
    this.#maxParts = maxParts
    this.#tooMany = tooMany
    this.#receiver = receiver
  }

  override _write (bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    this.#read().then(() => done(), done)
  }

  override _final (done: (error?: Error | null) => void): void {
    done(this.#place === 'end' ? null : malformed())
  }

  async #read (): Promise<void> {
    for (;;) {
      if (this.#place === 'end') this.#rest = this.#rest.subarray(0, 0)
      if (this.#place === 'head' ? !await this.#readHead() : !this.#readData()) return
    }
  }

  /** Returns whether a boundary was found, and not only the bytes before one. */
  #readData (): boolean {
    const [rest, delimiter] = [this.#rest, this.#delimiter]
    let start = rest.indexOf(delimiter)
    for (; start !== -1; start = rest.indexOf(delimiter, start + 1)) {
      const end = start + delimiter.length
      if (end + 2 > rest.length) break
      const next = rest.toString('latin1', end, end + 2)
      if (next !== '\r\n' && next !== '--') continue // the boundary begins a line of the data
      this.#passOn(start)
      this.#endPart()
      this.#rest = rest.subarray(end)
      this.#place = next === '--' ? 'end' : 'head'
      if (next === '--') this.#receiver.onEnd()
      return true
    }
    this.#passOn(start === -1 ? this.#startOfBoundary() : start)
    return false
  }

  /** Returns the place of the bytes at the end that may begin a boundary: rarely any, and then the next piece is copied. */
  #startOfBoundary (): number {
    const [rest, delimiter] = [this.#rest, this.#delimiter]
    let start = rest.indexOf(carriageReturn, Math.max(rest.length - delimiter.length + 1, 0))
    while (start !== -1 && delimiter.compare(rest, start, rest.length, 0, rest.length - start) !== 0) start = rest.indexOf(carriageReturn, start + 1)
    return start === -1 ? rest.length : start
  }

  #passOn (length: number): void {
    const bytes = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    if (this.#part === undefined || length === 0) return
    if (!this.#part.isBase64) {
      this.#part.emit('data', bytes)
      return
    }
    const text = this.#base64 + bytes.toString('latin1').replaceAll(/\s/g, '')
    const decodable = text.length - text.length % 4
    this.#base64 = text.slice(decodable)
    this.#part.emit('data', Buffer.from(text.slice(0, decodable), 'base64'))
  }

  #endPart (): void {
    if (this.#base64 !== '') this.#part?.emit('data', Buffer.from(this.#base64, 'base64'))
    this.#part?.emit('end')
    this.#base64 = ''
    this.#part = undefined
  }

  /** Returns whether the head was complete. */
  async #readHead (): Promise<boolean> {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (Math.max(end, end === -1 ? this.#rest.length : 0) > maxHeadBytes) throw malformed(`A part of the form has more than ${maxHeadBytes} bytes of headers.`)
    if (end === -1) return false
    if (++this.#parts > this.#maxParts) throw this.#tooMany()
    this.#part = partOf(this.#rest.toString('utf8', 2, end))
    this.#rest = this.#rest.subarray(end + 4)
    this.#place = 'data'
    this.#receiver.onPart(this.#part)
    await yieldFairly() // formidable listens to a file a few promises later
    return true
  }
}

function partOf (head: string): Part {
  const part: Part = Object.assign(new Stream(), { name: null, originalFilename: null, mimetype: null, isBase64: false })
  const lines = head === '' ? [] : head.split('\r\n')
  if (lines.length > maxHeadLines) throw malformed(`A part of the form has more than ${maxHeadLines} headers.`)
  for (const line of lines) {
    const colon = line.indexOf(':')
    const value = line.slice(colon + 1).trim()
    switch (line.slice(0, Math.max(colon, 0)).toLowerCase()) {
      case '': throw malformed()
      case 'content-disposition':
        part.name = parameterOf(value, namePattern)
        part.originalFilename = fileName(value)
        break
      case 'content-type':
        part.mimetype = value
        break
      case 'content-transfer-encoding':
        part.isBase64 = isBase64(value)
    }
  }
  return part
}

/** @throws GatewayError for an encoding that forms do not have */
function isBase64 (encoding: string): boolean {
  switch (encoding.toLowerCase()) {
    case 'base64': return true
    case '7bit': case '8bit': case 'binary': case 'utf-8': return false
    default: throw malformed()
  }
}

const carriageReturn = 0x0d

const namePattern = /[;\s]name=/i
const fileNamePattern = /[;\s]filename=/i

/** A quote within the value is written as it is by some clients: the last one that ends a parameter closes it. */
function parameterOf (disposition: string, parameter: RegExp): string | null {
  const start = parameter.exec(disposition)
  if (start === null) return null
  const value = disposition.slice(start.index + start[0].length)
  const [, quoted, token] = /^"(.*?)"(?:$|\s*;)/.exec(value) ?? /^()([^\s";]+)/.exec(value) ?? []
  return quoted === undefined || quoted === '' ? token ?? '' : quoted
}

/** The name of a file as browsers write it: without the path that some send, quotes as `%22`, other characters as references. */
function fileName (disposition: string): string | null {
  const name = parameterOf(disposition, fileNamePattern)
  if (name === null) return null
  return name.slice(name.lastIndexOf('\\') + 1)
    .replaceAll('%22', '"')
    .replaceAll(/&#(\d{4});/g, (_, code: string) => String.fromCharCode(Number(code)))
}

function malformed (message = 'The body is not a well-formed multipart form.'): GatewayError {
  return new GatewayError('invalid_value', { message })
}
