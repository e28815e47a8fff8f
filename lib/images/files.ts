/** Detects what an uploaded image really is, by its first bytes; its name and media type may say anything. */

import { GatewayError } from '../core/errors.ts'
import type { UploadedFile } from '../core/upload.ts'
import type { ImageFamily } from './rules.ts'

export interface ImageKind {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp'
  readonly extension: 'png' | 'jpg' | 'webp'
}

const squarePngBytes = 4 * 1024 * 1024

/**
 * Returns the kind of an image; `undefined` for anything but PNG, JPEG and WebP.
 *
 * Three signatures of our own and not file-type, which recordings are recognised by: adapters and
 * tool results call this without awaiting, file-type reads asynchronously and takes 9 µs where this
 * takes 0.2, and it calls an animated PNG something else, which providers take as a PNG.
 */
export function imageKind (head: Uint8Array): ImageKind | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 12))
  const text = bytes.toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return { mediaType: 'image/png', extension: 'png' }
  if (text.startsWith('\xff\xd8\xff')) return { mediaType: 'image/jpeg', extension: 'jpg' }
  if (text.startsWith('RIFF') && text.slice(8) === 'WEBP') return { mediaType: 'image/webp', extension: 'webp' }
  return undefined
}

/**
 * Returns width and height of a PNG, in pixels: its first chunk is always the header.
 *
 * @returns undefined for bytes that are not the beginning of a PNG
 * @see https://www.w3.org/TR/png-3/#11IHDR
 */
export function pngSize (head: Uint8Array): { readonly width: number, readonly height: number } | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (bytes.length < 24 || imageKind(bytes)?.extension !== 'png' || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/**
 * @param param the form field, for the message
 * @throws GatewayError `unsupported_format` for what is no image, `invalid_value` and
 *   `file_too_large` for one the family does not take
 */
export function checkImageFile (file: UploadedFile, param: string, { files }: Pick<ImageFamily, 'files'>): void {
  const kind = imageKind(file.head)
  if (kind === undefined) {
    throw new GatewayError('unsupported_format', { message: `\`${param}\` must be a PNG, JPEG or WebP image.`, param })
  }
  if (files !== 'square_png') return
  const size = pngSize(file.head)
  if (size === undefined) throw new GatewayError('unsupported_format', { message: `\`${param}\` must be a PNG.`, param })
  if (size.width !== size.height) {
    throw new GatewayError('invalid_value', { message: `\`${param}\` must be square, not ${size.width}x${size.height}.`, param })
  }
  if (file.sizeBytes >= squarePngBytes) {
    throw new GatewayError('file_too_large', { message: `\`${param}\` must be smaller than 4 MB.`, param })
  }
}
