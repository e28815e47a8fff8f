/** Fields and files as an outgoing `multipart/form-data` body. */

import { randomUUID } from 'node:crypto'

export interface FormField {
  /** List names end in `[]` and are repeated for each value. */
  readonly name: string
  readonly value: string
}

export interface FormFilePart {
  readonly name: string
  readonly fileName: string
  readonly mediaType: string
  readonly sizeBytes: number
  /** Returns the bytes from the start; may be called repeatedly. */
  readonly open: () => AsyncIterable<Uint8Array>
}

export type FormPart = FormField | FormFilePart

export interface MultipartBody {
  /** Content type with the boundary, and the content length. */
  readonly headers: Readonly<Record<string, string>>
  /** Returns the body; may be called repeatedly. Files are streamed. */
  readonly open: () => AsyncIterable<Uint8Array>
}

/** Returns a body with the parts in the given order. */
export function multipartBody (parts: readonly FormPart[]): MultipartBody {
  const boundary = `headgate-${randomUUID()}`
  // Join everything between two files, because each piece is a separate write.
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

/** Escapes characters that would end the quoted string or the header, like HTML forms. */
function escaped (name: string): string {
  return name.replace(/["\r\n]/g, character => encodeURIComponent(character))
}
