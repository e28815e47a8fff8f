/** Parts of user messages: text, and media inline or by URL. */

import { GatewayError } from '../../core/errors.ts'
import { maxUrlLength } from '../../../schemas/url.ts'
import type { Part } from './wire.ts'
import type { FilePart, UserPart } from '../../../schemas/messages.ts'

const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  avif: 'image/avif',
  bmp: 'image/bmp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json'
}

/** Returns a text part; none for empty text, which the provider rejects. */
export function textPart (text: string): Part[] {
  return text === '' ? [] : [{ text }]
}

/**
 * Converts a part of a user message; empty parts give none.
 *
 * @param param location of the part in the request
 * @throws GatewayError `unsupported_parameter` for a `file_id`, which this provider does not know;
 *   `invalid_value` for media that is neither a URL nor inline data
 */
export function partOf (part: UserPart, param: string): Part[] {
  switch (part.type) {
    case 'text': return textPart(part.text)
    case 'image_url': return [imagePart(part.image_url.url, `${param}.image_url.url`)]
    case 'input_audio': {
      const { data, format } = part.input_audio
      return [{ inlineData: { mimeType: `audio/${format}`, data } }]
    }
    default: return [filePart(part.file, param)]
  }
}

function imagePart (url: string, param: string): Part {
  const inline = inlineOf(url, 'image/jpeg')
  if (inline !== undefined) return inline
  if (!isWebAddress(url)) {
    throw new GatewayError('invalid_value', {
      message: 'An image must be an http: or https: URL, or a data: URL in base64.', param
    })
  }
  // The provider fetches it: the gateway opens no URL from a caller.
  return { fileData: { mimeType: typeByName(new URL(url).pathname) ?? 'image/jpeg', fileUri: url } }
}

function filePart ({ file_data: data, file_id: id, filename }: FilePart['file'], param: string): Part {
  if (!data && id) {
    throw new GatewayError('unsupported_parameter', {
      message: 'This model does not support uploaded files. Send `file_data`.',
      param: `${param}.file.file_id`
    })
  }
  const named = typeByName(filename ?? '')
  const inline = inlineOf(data ?? '', named ?? 'application/pdf')
  if (inline !== undefined) return inline
  if (data && isWebAddress(data)) {
    const mimeType = typeByName(new URL(data).pathname) ?? named ?? 'application/pdf'
    return { fileData: { mimeType, fileUri: data } }
  }
  if (data && named !== undefined && /^[\w+/-]+={0,2}$/.test(data)) {
    return { inlineData: { mimeType: named, data } }
  }
  throw new GatewayError('invalid_value', {
    message: 'A file must be an address, a base64 data URL, or base64 with a `filename` whose extension gives the type.',
    param: `${param}.file.file_data`
  })
}

function isWebAddress (url: string): boolean {
  return /^https?:\/\//i.test(url) && url.length <= maxUrlLength && URL.canParse(url)
}

/** Converts a data: URL to a part. @see https://www.rfc-editor.org/rfc/rfc2397 */
function inlineOf (url: string, fallback: string): Part | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  if (comma < 0) return undefined
  const [type = '', ...parameters] = url.slice('data:'.length, comma).split(';')
  if (parameters.at(-1)?.trim().toLowerCase() !== 'base64') return undefined
  const mimeType = type.trim().toLowerCase() || fallback
  // A common but unregistered media type, which the provider rejects.
  return {
    inlineData: { mimeType: mimeType === 'image/jpg' ? 'image/jpeg' : mimeType, data: url.slice(comma + 1) }
  }
}

function typeByName (name: string): string | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase()
  return extension === undefined || !Object.hasOwn(mediaTypes, extension) ? undefined : mediaTypes[extension]
}
