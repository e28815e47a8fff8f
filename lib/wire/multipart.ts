/** Fields and files as an outgoing `multipart/form-data` body. */

import { randomUUID } from 'node:crypto'

export interface FormField {
  /** Names of lists end in `[]`, and come once per value. */
  readonly name: string
  readonly value: string
}

export interface FormFilePart {
  readonly name: string
  readonly fileName: string
  readonly mediaType: string
  readonly sizeBytes: number
  /** Opens the bytes anew. */
  readonly open: () => AsyncIterable<Uint8Array>
}

export type FormPart = FormField | FormFilePart

export interface MultipartBody {
  /** Content type with the boundary, and the content length. */
  readonly headers: Readonly<Record<string, string>>
  /** Opens the body: as often as it is sent. Files pass through read by read. */
  readonly open: () => AsyncIterable<Uint8Array>
}

/** Parts go out in the order given. */
export function multipartBody (parts: readonly FormPart[]): MultipartBody {
  const boundary = `headgate-${randomUUID()}`
  // All that stands between two files is one piece: each piece is a write of its own.
  const pieces: Array<Buffer | FormFilePart> = []
  let text = ''
  for (const part of parts) {
    text += `--${boundary}\r\n${headOf(part)}\r\n\r\n`
    if ('value' in part) text += part.value
    else {
      pieces.push(Buffer.from(text), part)
      text = ''
    }
    text += '\r\n'
  }
  pieces.push(Buffer.from(`${text}--${boundary}--\r\n`))
  const sizeBytes = pieces.reduce((sum, piece) => sum + ('open' in piece ? piece.sizeBytes : piece.length), 0)
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(sizeBytes)
    },
    open: async function * () {
      for (const piece of pieces) {
        if ('open' in piece) yield * piece.open()
        else yield piece
      }
    }
  }
}

function headOf (part: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${escaped(part.name)}"`
  return 'value' in part
    ? disposition
    : `${disposition}; filename="${escaped(part.fileName)}"\r\nContent-Type: ${part.mediaType.replace(/[\r\n]/g, '')}`
}

/** Escapes what would end the quoted text or the header, as the form encoding of HTML writes it. */
function escaped (name: string): string {
  return name.replace(/["\r\n]/g, character => encodeURIComponent(character))
}
