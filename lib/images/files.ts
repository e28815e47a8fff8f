/** Detects the format of an uploaded image by its first bytes; its name and media type may be wrong. */

import { GatewayError } from '../core/errors.ts'
import type { UploadedFile } from '../core/upload.ts'
import type { ImageFamily } from './rules.ts'

export interface ImageKind {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp'
  readonly extension: 'png' | 'jpg' | 'webp'
}

export interface ImageSize {
  readonly width: number
  readonly height: number
}

const squarePngBytes = 4 * 1024 * 1024

/**
 * Returns the format of an image; `undefined` for anything but PNG, JPEG and WebP.
 *
 * Recordings are recognised with file-type, images by these three signatures: adapters and tool results call
 * this without awaiting, while file-type reads asynchronously. It also gives animated PNGs another type,
 * although providers accept them as PNG.
 */
export function imageKind (head: Uint8Array): ImageKind | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 12))
  const text = bytes.toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return { mediaType: 'image/png', extension: 'png' }
  if (text.startsWith('\xff\xd8\xff')) return { mediaType: 'image/jpeg', extension: 'jpg' }
  if (text.startsWith('RIFF') && text.slice(8) === 'WEBP') {
    return { mediaType: 'image/webp', extension: 'webp' }
  }
  return undefined
}

/**
 * Returns width and height of a PNG in pixels: its first chunk is always the header.
 *
 * @returns undefined for bytes that do not begin a PNG @see https://www.w3.org/TR/png-3/#11IHDR
 */
export function pngSize (head: Uint8Array): ImageSize | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (
    bytes.length < 24 ||
    imageKind(bytes)?.extension !== 'png' ||
    bytes.toString('latin1', 12, 16) !== 'IHDR'
  ) {
    return undefined
  }
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/**
 * Returns width and height of a PNG, JPEG or WebP in pixels, from its headers.
 *
 * @returns undefined if they do not tell @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf B.2.2,
 *   https://developers.google.com/speed/webp/docs/riff_container
 */
export function imageSize (image: Uint8Array): ImageSize | undefined {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength)
  switch (imageKind(bytes)?.extension) {
    case 'png': return pngSize(bytes)
    case 'jpg': return jpegSize(bytes)
    case 'webp': return webpSize(bytes)
    case undefined: return undefined
  }
}

/** Maximum bytes before the frame header: profiles and previews of cameras may take some. */
const maxHeaderBytes = 4 * 1024 * 1024

/** Skips segments up to the frame header, which has the size. */
function jpegSize (bytes: Buffer): ImageSize | undefined {
  for (let at = 2; at + 9 <= Math.min(bytes.length, maxHeaderBytes);) {
    const marker = bytes[at + 1] ?? 0
    if (bytes[at] !== 0xff) return undefined
    // no length follows
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8))
      at += marker === 0xff ? 1 : 2
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    else at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function webpSize (bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30) return undefined
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ': return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8X': return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: (bits >>> 14 & 0x3fff) + 1 }
    }
    default: return undefined
  }
}

/**
 * @param param the form field, for the message
 * @throws GatewayError `unsupported_format` for what is no image, `invalid_value` and
 *   `file_too_large` for one the family does not take
 */
export function checkImageFile (
  file: UploadedFile,
  param: string,
  { files }: Pick<ImageFamily, 'files'>
): void {
  const kind = imageKind(file.head)
  if (kind === undefined) {
    throw new GatewayError('unsupported_format', {
      message: `\`${param}\` must be a PNG, JPEG or WebP image.`,
      param
    })
  }
  if (files !== 'square_png') return
  const size = pngSize(file.head)
  if (size === undefined) {
    throw new GatewayError('unsupported_format', { message: `\`${param}\` must be a PNG.`, param })
  }
  if (size.width !== size.height) {
    throw new GatewayError('invalid_value', {
      message: `\`${param}\` must be square, not ${size.width}x${size.height}.`,
      param
    })
  }
  if (file.sizeBytes >= squarePngBytes) {
    throw new GatewayError('file_too_large', { message: `\`${param}\` must be smaller than 4 MB.`, param })
  }
}
