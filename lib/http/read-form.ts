/**
 * Reads a multipart form within limits: fields as texts, files into memory or onto disk as they arrive.
 *
 * koa-body and formidable under it are loaded with the first form. They get a stream of ours in
 * place of the request, which counts what passes and ends with the call, because they notice
 * neither a deadline nor a body that never ends, and a parser of ours.
 */

import { join } from 'node:path'
import { Transform, type TransformCallback } from 'node:stream'
import { GatewayError, ValidationError } from '../core/errors.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { formParserPlugin } from './form-parser.ts'
import { SmallPieces, bytesPerPiece } from './small-pieces.ts'
import { createUploadDirectory, removeUploadDirectory } from './upload-directory.ts'
import { UploadWriter } from './upload-writer.ts'
import type { Reservation } from './admission.ts'
import type { RequestBody } from './request-body.ts'
import type { Context } from 'koa'
import type { ExtendedFormidableOptions } from 'koa-body'
import type { CallSignal } from '../core/call-signal.ts'
import type { UploadedFile, UploadForm } from '../core/upload.ts'

/** Bounds on what is not a file. */
const fieldBytes = 1024 * 1024
/** Boundaries and headers of the parts. */
const framingBytes = 256 * 1024

export interface FormLimits {
  /** Bytes of all files together. */
  readonly maxBytes: number
  readonly maxFields: number
  readonly maxFiles: number
  readonly timeoutMs: number
  readonly signal: CallSignal
  /** Holds the fields of the form, and its files while that is cheap. */
  readonly memory: Reservation
  /** Holds the rest of its files. */
  readonly disk: Reservation
}

/** A form whose files exist until `remove` is called. */
export interface OpenForm {
  readonly form: UploadForm
  /** @param mayReuse true where nothing can read the files any more: their memory may then be used for others */
  readonly remove: (mayReuse: boolean) => Promise<void>
}

type ParsedFile = Parameters<NonNullable<ExtendedFormidableOptions['onFileBegin']>>[1]

interface NamedFile {
  readonly name: string
  readonly file: ParsedFile
  readonly writer: UploadWriter
}

/**
 * Reads the body to its end. A file part that a browser sends for "no file chosen", without a name
 * and without bytes, counts as absent.
 *
 * @throws GatewayError `unsupported_media_type`, `file_too_large` as soon as it is known (`param`
 *   is the field of the file), `request_timeout`, `invalid_value` for a form that is broken or has
 *   too many parts, or the signal's reason; nothing is left on disk then
 * @throws ValidationError (422) for an empty file
 */
export async function readForm (request: RequestBody, limits: FormLimits): Promise<OpenForm> {
  const boundary = boundaryOf(request)
  let directory: Promise<string> | undefined
  let files = 0
  let isRemoved = false
  const newPath = async (): Promise<string> => {
    if (isRemoved) throw new Error('the files of the form were removed')
    return join(await (directory ??= createUploadDirectory()), String(++files))
  }
  const writers: UploadWriter[] = []
  const newWriter = (): UploadWriter => {
    const writer = new UploadWriter({ memory: limits.memory, disk: limits.disk, newPath })
    writers.push(writer)
    return writer
  }
  const remove = async (mayReuse: boolean): Promise<void> => {
    isRemoved = true
    if (mayReuse) for (const writer of writers) writer.giveBack()
    // The parser may still be at work when a call was given up: a file that it opens now would stay.
    await Promise.all(writers.map(writer => writer.close()))
    if (directory !== undefined) await removeUploadDirectory(await directory)
  }
  try {
    return { form: await parse(request, boundary, limits, newWriter), remove }
  } catch (error) {
    await remove(false)
    throw limits.signal.aborted ? limits.signal.reason : error
  }
}

/** Longer ones are not allowed. @see https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1 */
const maxBoundaryLength = 70

/** Returns the boundary of the form once its headers are such that it can be read. */
function boundaryOf ({ headers }: RequestBody): string {
  const contentType = headers['content-type'] ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) {
    throw new GatewayError('unsupported_media_type', { message: 'Send the body as multipart/form-data.' })
  }
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported_media_type', { message: 'The content encoding of the body is not supported.' })
  }
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType)?.slice(1).find(text => text !== undefined)
  if (boundary === undefined) throw malformed('The content type of the form has no boundary.')
  if (boundary.length > maxBoundaryLength) throw malformed(`The boundary of the form is longer than ${maxBoundaryLength} characters.`)
  return boundary
}

async function parse (
  request: RequestBody, boundary: string, limits: FormLimits, newWriter: () => UploadWriter
): Promise<UploadForm> {
  const { koaBody } = await import('koa-body')
  const { maxFields, maxFiles, signal, memory } = limits
  if (signal.aborted) throw signal.reason
  const source = new BoundedBody(request, limits.maxBytes + fieldBytes + framingBytes)
  const onAbort = (): void => { source.destroy(asError(signal.reason)) }
  const timer = setTimeout(() => source.destroy(new GatewayError('request_timeout')), limits.timeoutMs)
  /** In the order of the form: the parser hands files over as they finish. */
  const files: NamedFile[] = []
  const middleware = koaBody({
    multipart: true,
    json: false,
    text: false,
    urlencoded: false,
    formidable: {
      enabledPlugins: [formParserPlugin(boundary, maxFields + maxFiles, () => tooManyParts(limits))],
      maxFields,
      maxFieldsSize: fieldBytes,
      maxFiles,
      maxFileSize: limits.maxBytes,
      maxTotalFileSize: limits.maxBytes,
      allowEmptyFiles: true,
      minFileSize: 0,
      // Nothing is written under this name. The default is a random one, whose hash takes 16 µs.
      filename: () => 'upload',
      onFileBegin: (name, file) => { files.push({ name, file, writer: newWriter() }) },
      fileWriteStreamHandler: () => {
        const last = files.at(-1)
        if (last === undefined) throw new Error('a file is written before it begins')
        return last.writer
      },
      onPart: (part, handlePart) => {
        if (part.name === null) return
        // The parser takes a part for a file when it has a type. It is one when it has a file name.
        part.mimetype = part.originalFilename === null ? null : part.mimetype ?? 'application/octet-stream'
        if (part.mimetype === null) part.on('data', (bytes: Buffer) => memory.take(bytes.length))
        handlePart(part)
      }
    }
  })
  // The parts of a Koa context that koa-body reads when it need not choose between kinds of body.
  const context = { method: 'POST', req: source, request: {}, is: () => 'multipart/form-data' } as unknown as Context
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    request.pipe(source)
    // The parser begins to listen late: an error before that would pass it by.
    await Promise.race([middleware(context, async () => undefined), source.failed])
    // formidable ignores the error of a file once the last boundary was read.
    for (const { writer } of files) if (writer.errored !== null) throw writer.errored
  } catch (error) {
    throw explained(error, files.at(-1)?.name, limits)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    request.unpipe(source)
    source.destroy()
  }
  // As koa-body types them, but for the values it takes from JSON bodies.
  return await formOf(context.request.body as UploadForm['fields'], files)
}

/** A socket would hand over two megabytes in a turn of the event loop. */
const bytesPerTurn = 256 * 1024
/** The request body, passed on piece by piece and cut off above a limit. Small pieces are put together: a write to disk for each byte would take 40 µs for it. */
class BoundedBody extends Transform {
  readonly headers: RequestBody['headers']
  /** Rejects with the first error. */
  readonly failed: Promise<never>
  #bytesLeft: number
  #unpausedBytes = 0
  readonly #pieces = new SmallPieces(piece => { this.push(piece) })

  constructor (request: RequestBody, maxBytes: number) {
    super()
    this.headers = request.headers
    this.#bytesLeft = maxBytes
    this.failed = new Promise((_resolve, reject) => { this.once('error', reject) })
  }

  override _transform (bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytesLeft -= bytes.length
    if (this.#bytesLeft < 0) return done(new GatewayError('file_too_large'))
    this.#pieces.push(bytes)
    this.#unpausedBytes += bytes.length + bytesPerPiece
    if (this.#unpausedBytes < bytesPerTurn) return done()
    this.#unpausedBytes = 0
    void yieldFairly().then(() => done())
  }

  override _flush (done: TransformCallback): void {
    this.#pieces.flush()
    done()
  }
}

/** Numbers of the parser's errors. */
const tooLarge = new Set([1006, 1009, 1016])
const tooMany = new Set([1007, 1015])
const broken = new Set([1012, 1014])

function explained (error: unknown, field: string | undefined, limits: FormLimits): unknown {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  if (error instanceof GatewayError && error.code !== 'file_too_large') return error
  if (code === 'file_too_large' || tooLarge.has(Number(code))) {
    return code === 1006
      ? new GatewayError('file_too_large', { message: `The fields of the form are larger than ${formatMegabytes(fieldBytes)}.` })
      : new GatewayError('file_too_large', { message: `The file is larger than ${formatMegabytes(limits.maxBytes)}.`, param: field })
  }
  if (tooMany.has(Number(code))) return tooManyParts(limits)
  if (broken.has(Number(code))) return malformed('The body is not a well-formed multipart form.')
  return error
}

function tooManyParts ({ maxFields, maxFiles }: FormLimits): GatewayError {
  return malformed(`A form may have up to ${maxFields} fields and ${maxFiles} files.`)
}

function malformed (message: string): GatewayError {
  return new GatewayError('invalid_value', { message })
}

async function formOf (fields: UploadForm['fields'], parsed: readonly NamedFile[]): Promise<UploadForm> {
  const files: Record<string, UploadedFile[]> = Object.create(null) // any name is only a name
  for (const { name, file, writer } of parsed) {
    if (file.size === 0) {
      if ((file.originalFilename ?? '') === '') continue
      throw new ValidationError([{ loc: ['body', name.replace(/\[\]$/, '')], msg: 'Value error, the file is empty', type: 'value_error' }])
    }
    const list = files[name] ??= []
    list.push(await fileOf(file, writer))
  }
  return { fields, files }
}

async function fileOf ({ originalFilename, mimetype, size }: ParsedFile, writer: UploadWriter): Promise<UploadedFile> {
  return {
    name: plainName(originalFilename ?? ''),
    mediaType: mimetype ?? 'application/octet-stream',
    sizeBytes: size,
    head: await writer.head(),
    open: () => writer.open()
  }
}

/** Without path and control characters. */
function plainName (name: string): string {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  return last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').slice(-255)
}

function asError (reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}
