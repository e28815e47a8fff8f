/**
 * Reads the document of an OCR request: an address for the provider to fetch, or bytes.
 *
 * The type of bytes is recognised by their beginning; the media type given by the caller may be wrong.
 */

import type { CallSignal } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { imageKind } from '../images/files.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { maxUrlLength } from '../../schemas/url.ts'

export type DocumentType = 'application/pdf' | 'image/png' | 'image/jpeg' | 'image/webp'

export type OcrDocument =
  | { readonly kind: 'address', readonly url: string, readonly isImage: boolean }
  | { readonly kind: 'bytes', readonly mediaType: DocumentType, readonly bytes: Buffer }

/** A media type and its parameters. */
const maxHeadLength = 1024
/** A multiple of four, so that pieces can be decoded one by one. */
const pieceCharacters = 256 * 1024
const param = 'document'

/**
 * @param text of `document_url`, or the bytes of a long one
 * @param maxBytes of the decoded document
 * @throws GatewayError `invalid_value` for an address that may not be used or a broken data URL;
 *   `file_too_large`; `unsupported_format` for bytes that are neither PDF nor PNG, JPEG or WebP; the reason
 *   of the signal
 */
export async function readDocument (
  text: string | Buffer,
  maxBytes: number,
  signal: CallSignal
): Promise<OcrDocument> {
  const head =
    typeof text === 'string' ? text.slice(0, maxHeadLength) : text.toString('latin1', 0, maxHeadLength)
  if (!/^data:/i.test(head)) return readAddress(text)
  const prefix = /^data:[\x20-\x2b\x2d-\x7e]*;base64,/i.exec(head)?.[0]
  if (prefix === undefined) throw invalid('A data URL must contain base64: `data:application/pdf;base64,…`.')
  const bytes = await decode(
    typeof text === 'string' ? Buffer.from(text) : text,
    prefix.length,
    maxBytes,
    signal
  )
  const mediaType = documentType(bytes)
  if (mediaType === undefined) {
    throw new GatewayError('unsupported_format', {
      message: 'The document is neither PDF nor PNG, JPEG or WebP.',
      param
    })
  }
  return { kind: 'bytes', mediaType, bytes }
}

/**
 * Recognises a document by its first bytes. Up to a kilobyte of anything may precede the first line of a PDF.
 */
export function documentType (bytes: Buffer): DocumentType | undefined {
  return (
    imageKind(bytes)?.mediaType ??
    (bytes.subarray(0, 1024).includes('%PDF-') ? 'application/pdf' : undefined)
  )
}

function readAddress (text: string | Buffer): OcrDocument {
  if (typeof text !== 'string' || text.length > maxUrlLength) {
    throw invalid('The URL of the document is too long.')
  }
  let url: URL
  try {
    url = new URL(text)
  } catch (cause) {
    throw new GatewayError('invalid_value', {
      message: 'The document must be an https URL or a data URL.',
      param,
      cause
    })
  }
  if (url.protocol !== 'https:') throw invalid('The document must be an https URL or a data URL.')
  if (url.username !== '' || url.password !== '') {
    throw invalid('The URL of the document must not contain credentials.')
  }
  return { kind: 'address', url: url.href, isImage: /\.(?:png|jpe?g|webp)$/i.test(url.pathname) }
}

/**
 * Decodes into memory that a worker can share. A large document takes a tenth of a second, so other calls run
 * between the pieces.
 */
async function decode (text: Buffer, from: number, maxBytes: number, signal: CallSignal): Promise<Buffer> {
  const padding = /={0,2}$/.exec(text.toString('latin1', Math.max(from, text.length - 2)))?.[0].length ?? 0
  const sizeBytes = Math.floor((text.length - from - padding) * 3 / 4)
  if (sizeBytes > maxBytes) {
    throw new GatewayError('file_too_large', {
      message: `The document is larger than ${formatMegabytes(maxBytes)}.`,
      param
    })
  }
  const bytes = Buffer.from(new SharedArrayBuffer(sizeBytes))
  let written = 0
  for (let at = from; at < text.length; at += pieceCharacters) {
    if (at > from) await yieldFairly()
    signal.throwIfAborted()
    written += bytes.write(text.toString('latin1', at, at + pieceCharacters), written, 'base64')
  }
  // The decoder leaves out what is not base64; then there are fewer bytes than characters say.
  if (written === 0 || written !== sizeBytes) throw invalid('The data URL is not valid base64.')
  return bytes
}

function invalid (message: string): GatewayError {
  return new GatewayError('invalid_value', { message, param })
}
