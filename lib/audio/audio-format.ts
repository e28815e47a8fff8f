/**
 * Recognises supported recordings, by their first bytes and their name.
 *
 * Providers decide by the extension of the file name alone, and clients send the type
 * `application/octet-stream` for everything. A name without a usable extension therefore gets the one that
 * fits its bytes.
 */

import { GatewayError } from '../core/errors.ts'
import type { UploadedFile } from '../core/upload.ts'

const extensions = ['flac', 'mp3', 'mp4', 'mpeg', 'mpga', 'm4a', 'ogg', 'wav', 'webm']

/** Maps the formats of file-type to the extension that fits. */
const recognised: Readonly<Record<string, string>> = {
  flac: 'flac',
  oga: 'ogg',
  ogg: 'ogg',
  opus: 'ogg',
  mp3: 'mp3',
  mp2: 'mpga',
  mp1: 'mpga',
  mpg: 'mpeg',
  mp4: 'mp4',
  m4v: 'mp4',
  m4a: 'm4a',
  m4b: 'm4a',
  wav: 'wav',
  webm: 'webm'
}

/**
 * Returns the name to send the recording under: the caller's, if its extension is a supported format.
 *
 * @throws GatewayError `unsupported_format` for bytes of another format, and for unknown bytes under a name
 *   without a usable extension
 */
export async function audioFileName ({ name, head }: UploadedFile): Promise<string> {
  const { fileTypeFromBuffer } = await import('file-type')
  const found = (await fileTypeFromBuffer(head))?.ext
  const isNamed = audioExtension(name) !== undefined
  if (found === undefined && isNamed) return name
  const extension = recognised[found ?? '']
  if (extension === undefined) {
    const is = found === undefined ? '' : ` This one is ${found}.`
    throw new GatewayError('unsupported_format', {
      message: `The file must be one of ${extensions.join(', ')}.${is}`, param: 'file'
    })
  }
  return isNamed ? name : `${name.replace(/\.[^.]*$/, '') || 'audio'}.${extension}`
}

/** Returns the extension of a name in lower case, if it is that of a recording. */
export function audioExtension (name: string): string | undefined {
  const extension = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase()
  return extension !== undefined && extensions.includes(extension) ? extension : undefined
}
