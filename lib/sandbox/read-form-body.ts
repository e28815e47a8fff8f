/**
 * Reads a form of `wire/multipart`. The parser of `Response.formData` needs 90 ms in one tick of the event
 * loop for a recording of 24 MB; searching for the boundary takes ten. Files are views of the body: as
 * `Blob`s they would be copied twice.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

const lineEnd = '\r\n'

/** A field of a form; a file has a file name. */
export interface SandboxFormPart {
  readonly name: string
  readonly fileName?: string
  readonly bytes: Buffer
}

/** @throws TypeError for anything but a form as the adapters write it */
export async function readFormBody ({
  body,
  headers
}: Pick<UpstreamRequest, 'body' | 'headers'>): Promise<SandboxFormPart[]> {
  const boundary = /^multipart\/form-data; boundary=([\w-]+)$/.exec(headers['content-type'] ?? '')?.[1]
  if (boundary === undefined) throw new TypeError('no form')
  const bytes = await bufferBody(body)
  const parts: SandboxFormPart[] = []
  const mark = Buffer.from(`--${boundary}`)
  for (let start = bytes.indexOf(mark), end = start; start !== -1; start = end) {
    end = bytes.indexOf(mark, start + mark.length)
    if (end === -1) break
    parts.push(partOf(bytes.subarray(start + mark.length + lineEnd.length, end - lineEnd.length)))
    await yieldFairly()
  }
  return parts
}

function partOf (part: Buffer): SandboxFormPart {
  const headEnd = part.indexOf(lineEnd + lineEnd)
  const [, name, fileName] =
    /^Content-Disposition: form-data; name="([^"]*)"(?:; filename="([^"]*)")?/.exec(
      part.toString('utf8', 0, Math.max(0, headEnd))
    ) ?? []
  if (headEnd === -1 || name === undefined) throw new TypeError('a part without a name')
  return {
    name: unescaped(name),
    bytes: part.subarray(headEnd + 2 * lineEnd.length),
    ...fileName !== undefined && { fileName: unescaped(fileName) }
  }
}

function unescaped (name: string): string {
  return name.replace(/%22|%0D|%0A/gi, escape => decodeURIComponent(escape))
}
