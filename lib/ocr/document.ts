/**
 * The document of an OCR request: an address for the provider to fetch, or bytes.
 *
 * What bytes are is told by their beginning; the media type a caller wrote beside them may say
 * anything. They are decoded once, piece by piece, and from then on the only copy there is.
 */

import { GatewayError } from '../errors.ts'
import { imageKind } from '../images/files.ts'
import { LongText } from '../long-text.ts'

export type DocumentType = 'application/pdf' | 'image/png' | 'image/jpeg' | 'image/webp'

export type OcrDocument =
  | { readonly kind: 'address', readonly url: string, readonly isImage: boolean }
  | { readonly kind: 'bytes', readonly mediaType: DocumentType, readonly bytes: Buffer }

/** Longer addresses are refused by servers anyway. */
const longestAddress = 8192
/** A media type and its parameters. */
const longestPrefix = 1024
const param = 'document'

/**
 * @param text of `document_url`
 * @param maxBytes of the decoded document
 * @throws GatewayError `invalid_value` for an address that may not be used or a broken data URL,
 *   `file_too_large`, `unsupported_format` for bytes that are neither PDF nor PNG, JPEG or WebP
 */
export function readDocument (text: string | LongText, maxBytes: number): OcrDocument {
  const head = typeof text === 'string' ? text.slice(0, longestPrefix) : text.head(longestPrefix)
  if (!/^data:/i.test(head)) return readAddress(text)
  const prefix = /^data:[^,]*;base64,/i.exec(head)?.[0]
  if (prefix === undefined) throw invalid('A data URL must hold base64: `data:application/pdf;base64,…`.')
  const bytes = decode(text, prefix.length, maxBytes)
  const mediaType = documentType(bytes)
  if (mediaType === undefined) {
    throw new GatewayError('unsupported_format', { message: 'The document is neither PDF nor PNG, JPEG or WebP.', param })
  }
  return { kind: 'bytes', mediaType, bytes }
}

/** A PDF may have up to a kilobyte of anything before its own first line. */
export function documentType (bytes: Buffer): DocumentType | undefined {
  return imageKind(bytes)?.mediaType ?? (bytes.subarray(0, 1024).includes('%PDF-') ? 'application/pdf' : undefined)
}

function readAddress (text: string | LongText): OcrDocument {
  if (typeof text !== 'string' || text.length > longestAddress) throw invalid('The address of the document is too long.')
  let url: URL
  try {
    url = new URL(text)
  } catch (cause) {
    throw new GatewayError('invalid_value', { message: 'The document must be an https address or a data URL.', param, cause })
  }
  if (url.protocol !== 'https:') throw invalid('The document must be an https address or a data URL.')
  if (url.username !== '' || url.password !== '') throw invalid('The address of the document may not hold credentials.')
  return { kind: 'address', url: url.href, isImage: /\.(?:png|jpe?g|webp)$/i.test(url.pathname) }
}

/** The bytes after the prefix, in memory that a worker can share. */
function decode (text: string | LongText, from: number, maxBytes: number): Buffer {
  const length = (typeof text === 'string' ? text.length : text.sizeBytes) - from
  // Padding is not known yet: at most two bytes less.
  if (Math.floor(length / 4) * 3 - 2 > maxBytes) throw tooLarge(maxBytes)
  const room = Buffer.from(new SharedArrayBuffer(Math.ceil(length * 3 / 4)))
  let written = 0
  let padding = 0
  let rest = ''
  let skip = from
  for (const piece of typeof text === 'string' ? [text] : latin1(text)) {
    const skipped = Math.min(skip, piece.length)
    skip -= skipped
    const all = rest + piece.slice(skipped)
    const whole = all.length - all.length % 4
    rest = all.slice(whole)
    written += room.write(all.slice(0, whole), written, 'base64')
    padding = whole > 0 ? paddingOf(all.slice(whole - 2, whole)) : padding
  }
  written += room.write(rest, written, 'base64')
  if (rest !== '') padding = paddingOf(rest)
  // The decoder leaves out what is not base64; then there are fewer bytes than characters say.
  if (written === 0 || written !== Math.floor((length - padding) * 3 / 4)) throw invalid('The data URL is not valid base64.')
  if (written > maxBytes) throw tooLarge(maxBytes)
  return room.subarray(0, written)
}

function * latin1 (text: LongText): Generator<string, void> {
  for (const piece of text.take()) yield piece.toString('latin1')
}

function paddingOf (text: string): number {
  return /={0,2}$/.exec(text)?.[0].length ?? 0
}

function tooLarge (maxBytes: number): GatewayError {
  return new GatewayError('file_too_large', { message: `The document is larger than ${maxBytes} bytes.`, param })
}

function invalid (message: string): GatewayError {
  return new GatewayError('invalid_value', { message, param })
}
