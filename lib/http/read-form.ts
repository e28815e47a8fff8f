/**
 * Reads a multipart form within limits: fields as texts, files into memory or onto disk as they arrive.
 *
 * koa-body and formidable are loaded with the first form. They get a bounded stream in place of the request:
 * none of their options ends a body at a deadline, or a body that never comes to a part.
 */

import { join } from 'node:path'
import { GatewayError, ValidationError } from '../core/errors.ts'
import { objectOf, property } from '../json/type-guards.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { BoundedBody } from './bounded-body.ts'
import { FieldText } from './field-text.ts'
import { requestBody, type RequestBody } from './request-body.ts'
import { createUploadDirectory, removeUploadDirectory } from './upload-directory.ts'
import { UploadWriter } from './upload-writer.ts'
import type { ByteAllowance } from './admission.ts'
import type { Context } from 'koa'
import type { ExtendedFormidableOptions } from 'koa-body'
import type { CallSignal } from '../core/call.ts'
import type { UploadedFile, UploadForm } from '../core/upload.ts'

/** Maximum bytes of all fields together: four samples of speakers, of ten seconds each, fit in. */
const maxFieldBytes = 8 * 1024 * 1024
/** Maximum bytes of boundaries and headers of parts. */
const maxFramingBytes = 256 * 1024
/** Maximum bytes of boundaries, headers, and parts that the parser still holds. */
const maxFramingAndHeldBytes = 2 * maxFramingBytes

export interface ReadFormOptions {
  /** Maximum bytes of all files together. */
  readonly maxBytes: number
  readonly maxFields: number
  readonly maxFiles: number
  readonly timeoutMs: number
  readonly signal: CallSignal
  /** Memory for the fields of the form, and for its files while that is cheap. */
  readonly memory: ByteAllowance
  /** Disk for the rest of its files. */
  readonly disk: ByteAllowance
}

/** A form whose files exist until `remove` is called. */
export interface OpenForm {
  readonly form: UploadForm
  readonly remove: () => Promise<void>
}

type FormidableErrors = typeof import('formidable')['errors']

type ParsedFile = Parameters<NonNullable<ExtendedFormidableOptions['onFileBegin']>>[1]

type FormPart = Parameters<NonNullable<ExtendedFormidableOptions['onPart']>>[0]

interface NamedFile {
  readonly name: string
  readonly file: ParsedFile
  readonly writer: UploadWriter
}

/**
 * Reads the body to its end. A file part that a browser sends for "no file chosen", without a name and
 * without bytes, counts as absent.
 *
 * @throws GatewayError `unsupported_media_type`; `file_too_large` as soon as it is known (`param` is the
 *   field of the file); `request_timeout`; `invalid_value` for a form that is broken or has too many parts;
 *   or the signal's reason. Nothing is left on disk then.
 * @throws ValidationError (422) for an empty file
 */
export async function readForm (context: Context, options: ReadFormOptions): Promise<OpenForm> {
  const body = requestBody(context)
  const boundary = boundaryOf(body)
  let directory: Promise<string> | undefined
  let files = 0
  let isRemoved = false
  const newPath = async (): Promise<string> => {
    if (isRemoved) throw new Error('the files of the form were removed')
    return join(await (directory ??= createUploadDirectory()), String(++files))
  }
  const writers: UploadWriter[] = []
  const newWriter = (): UploadWriter => {
    const writer = new UploadWriter({ memory: options.memory, disk: options.disk, newPath })
    writers.push(writer)
    return writer
  }
  const remove = async (): Promise<void> => {
    isRemoved = true
    // The parser may still be working when a call was aborted: a file that it opens now would stay.
    await Promise.all(writers.map(writer => writer.close()))
    if (directory !== undefined) await removeUploadDirectory(await directory)
  }
  try {
    return { form: await parse(context, body, boundary, options, newWriter), remove }
  } catch (error) {
    await remove()
    throw options.signal.aborted ? options.signal.reason : error
  }
}

/**
 * Maximum length of a boundary.
 *
 * @see https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1
 */
const maxBoundaryLength = 70

/** Returns the boundary between parts. @throws GatewayError for an unreadable form */
function boundaryOf ({ headers }: RequestBody): string {
  const contentType = headers['content-type'] ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) {
    throw new GatewayError('unsupported_media_type', { message: 'Send the body as multipart/form-data.' })
  }
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported_media_type', {
      message: 'The content encoding of the body is not supported.'
    })
  }
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i
    .exec(contentType)
    ?.slice(1)
    .find(text => text !== undefined)
  if (boundary === undefined) throw malformed('The content type of the form has no boundary.')
  if (boundary.length > maxBoundaryLength) {
    throw malformed(`The boundary of the form is longer than ${maxBoundaryLength} characters.`)
  }
  return boundary
}

async function parse (
  context: Context,
  body: RequestBody,
  boundary: string,
  options: ReadFormOptions,
  newWriter: () => UploadWriter
): Promise<UploadForm> {
  const { koaBody } = await import('koa-body')
  const { errors } = await import('formidable')
  const { signal } = options
  if (signal.aborted) throw signal.reason
  const parts = new FormParts(options, newWriter, error => source.destroy(error))
  // The parser would take the space before another parameter as part of the boundary.
  const headers = { ...body.headers, 'content-type': `multipart/form-data; boundary="${boundary}"` }
  const source = new BoundedBody({ headers }, {
    maxBytes: options.maxBytes + maxFieldBytes + maxFramingBytes,
    maxFramingBytes: maxFramingAndHeldBytes,
    partBytes: () => parts.bytes
  })
  const onAbort = (): void => {
    source.destroy(asError(signal.reason))
  }
  const timer = setTimeout(() => source.destroy(new GatewayError('request_timeout')), options.timeoutMs)
  const middleware = koaBody({
    multipart: true,
    json: false,
    text: false,
    urlencoded: false,
    formidable: parts.parserOptions()
  })
  const bounded: Context = Object.create(context, { req: { value: source } })
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    body.pipe(source)
    // The parser starts listening late, and would miss an earlier error.
    await Promise.race([middleware(bounded, async () => undefined), source.failed])
    parts.check()
  } catch (error) {
    throw explained(error, errors, parts, options)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    body.unpipe(source)
    source.destroy()
  }
  return await formOf(parts.fields, parts.files)
}

/** The parts of a form as the parser finds them: counted, limited, with files passed to their writers. */
class FormParts {
  readonly fields: Record<string, string | string[]> = Object.create(null) // any name is valid
  /** In the order of the form: the parser hands files over as they finish. */
  readonly files: NamedFile[] = []
  /** Bytes of parts that the parser has handed over. */
  bytes = 0
  #count = 0
  #fieldCount = 0
  #fieldBytes = 0
  /** Why no more parts are read. */
  refused: unknown
  readonly #options: ReadFormOptions
  readonly #newWriter: () => UploadWriter
  readonly #end: (error: Error) => void

  /** @param end ends the form, even if the parser has already read its last byte */
  constructor (options: ReadFormOptions, newWriter: () => UploadWriter, end: (error: Error) => void) {
    this.#options = options
    this.#newWriter = newWriter
    this.#end = end
  }

  parserOptions (): ExtendedFormidableOptions {
    const { maxBytes, maxFiles } = this.#options
    return {
      maxFiles,
      maxFileSize: maxBytes,
      maxTotalFileSize: maxBytes,
      allowEmptyFiles: true,
      minFileSize: 0,
      // Nothing is written under this name; the default is a random one for each file.
      filename: () => 'upload',
      onFileBegin: (name, file) => { this.files.push({ name, file, writer: this.#newWriter() }) },
      fileWriteStreamHandler: () => {
        const last = this.files.at(-1)
        if (last === undefined) throw new Error('a file is written before it begins')
        return last.writer
      },
      onPart: (part, handlePart) => this.#onPart(part, handlePart)
    }
  }

  /**
   * @throws the reason of a refusal, or the error of a file: formidable ignores it after the last boundary
   */
  check (): void {
    if (this.refused !== undefined) throw this.refused
    for (const { writer } of this.files) if (writer.errored !== null) throw writer.errored
  }

  /**
   * Starts a part. An error thrown here, later in `handlePart` or in a listener would end the process: nobody
   * awaits these promises.
   */
  #onPart (part: FormPart, handlePart: (part: FormPart) => void): void {
    if (++this.#count > this.#options.maxFields + this.#options.maxFiles) {
      return this.#refuse(tooManyParts(this.#options))
    }
    if (property(part, 'transferEncoding') === 'base64') {
      return this.#refuse(malformed('A part of the form is in base64. Send the bytes as they are.'))
    }
    part.on('data', (bytes: Buffer) => {
      this.bytes += bytes.length
    })
    if (part.name === null) return
    part.originalFilename = extendedFileName(part) || part.originalFilename
    // The parser treats a part with a type as a file. It is one only if it has a file name.
    if (part.originalFilename === null) return this.#readField(part, part.name)
    part.mimetype ??= 'application/octet-stream'
    const handled: unknown = handlePart(part)
    Promise.resolve(handled).catch((error: unknown) => this.#refuse(error))
  }

  /** Reads a field: the parser would decode it by its transfer encoding, and fail on `8bit`. */
  #readField (part: FormPart, name: string): void {
    if (++this.#fieldCount > this.#options.maxFields) return this.#refuse(tooManyParts(this.#options))
    let field: FieldText | undefined
    this.#orRefuse(() => {
      field = new FieldText(name, part.mimetype)
    })
    part.on('data', (bytes: Buffer) => this.#orRefuse(() => {
      this.#holdField(bytes)
      field?.push(bytes)
    }))
    part.on('end', () => this.#orRefuse(() => {
      const text = field?.end() ?? ''
      const earlier = this.fields[name]
      this.fields[name] = earlier === undefined ? text : [earlier, text].flat()
    }))
  }

  #holdField ({ length }: Buffer): void {
    this.#fieldBytes += length
    this.#options.memory.take(length)
    if (this.#fieldBytes > maxFieldBytes) throw fieldsTooLarge()
  }

  /** Does a step of reading, unless the form is refused already. */
  #orRefuse (step: () => void): void {
    if (this.refused !== undefined) return
    try {
      step()
    } catch (error) {
      this.#refuse(error)
    }
  }

  #refuse (error: unknown): void {
    this.refused ??= error
    this.#end(asError(error))
  }
}

function explained (
  error: unknown,
  errors: FormidableErrors,
  parts: FormParts,
  options: ReadFormOptions
): unknown {
  // the error does not tell which file is too large
  const isExplained = error === parts.refused || property(error, 'code') !== 'file_too_large'
  if (error instanceof GatewayError && isExplained) return error
  switch (property(error, 'code')) {
    case 'file_too_large':
    case errors.biggerThanMaxFileSize:
    case errors.biggerThanTotalMaxFileSize:
      return new GatewayError('file_too_large', {
        message: `The file is larger than ${formatMegabytes(options.maxBytes)}.`,
        param: parts.files.at(-1)?.name
      })
    case errors.maxFilesExceeded:
      return tooManyParts(options)
    case errors.malformedMultipart:
    case errors.unknownTransferEncoding:
      return malformed('The body is not a well-formed multipart form.')
    default: return error
  }
}

function fieldsTooLarge (): GatewayError {
  return new GatewayError('file_too_large', {
    message: `The fields of the form are larger than ${formatMegabytes(maxFieldBytes)}.`
  })
}

function tooManyParts ({ maxFields, maxFiles }: ReadFormOptions): GatewayError {
  return malformed(`A form may have up to ${maxFields} fields and ${maxFiles} files.`)
}

function malformed (message: string): GatewayError {
  return new GatewayError('invalid_value', { message })
}

async function formOf (fields: UploadForm['fields'], parsed: readonly NamedFile[]): Promise<UploadForm> {
  const files: Record<string, UploadedFile[]> = Object.create(null) // any name is valid
  for (const { name, file, writer } of parsed) {
    if (file.size === 0) {
      if ((file.originalFilename ?? '') === '') continue
      throw new ValidationError([
        {
          loc: ['body', name.replace(/\[\d*\]$/, '')],
          msg: 'Value error, the file is empty',
          type: 'value_error'
        }
      ])
    }
    const list = files[name] ??= []
    list.push(await fileOf(file, writer))
  }
  return { fields, files }
}

async function fileOf (
  { originalFilename, mimetype, size }: ParsedFile,
  writer: UploadWriter
): Promise<UploadedFile> {
  return {
    name: plainName(originalFilename ?? ''),
    mediaType: mimetype ?? 'application/octet-stream',
    sizeBytes: size,
    head: await writer.head(),
    open: () => writer.open()
  }
}

/**
 * Returns the `filename*` of a part, which some clients send for names that are not ASCII; `undefined` if
 * there is none, or none that can be decoded.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5987#section-3.2
 */
function extendedFileName (part: FormPart): string | undefined {
  const disposition = objectOf(property(part, 'headers'))?.['content-disposition']
  if (typeof disposition !== 'string') return undefined
  const [, charset = '', value = ''] =
    /;\s*filename\*\s*=\s*"?([a-z0-9-]+)'[^';"\s]*'([^;"\s]*)/i.exec(disposition) ?? []
  try {
    switch (charset.toLowerCase()) {
      case 'utf-8': return decodeURIComponent(value)
      case 'iso-8859-1':
        return value.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
      default: return undefined
    }
  } catch {
    return undefined
  }
}

/** Removes path and control characters. */
function plainName (name: string): string {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  return last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').slice(-255)
}

function asError (reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}
