/** Makes one buffer of the pieces of a body. */

import { yieldFairly } from '../async/yield-fairly.ts'

type Body = string | Uint8Array | (() => AsyncIterable<Uint8Array>) | undefined

/** Returns a request body as one buffer; a large one is joined in slices. */
export async function bufferBody (body: Body): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return view(body)
  const pieces: Buffer[] = []
  for await (const piece of body()) pieces.push(view(piece))
  return await joinInSlices(pieces)
}

function view ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Bytes copied per tick: 60 MB take 50 ms. */
const maxCopiedBytes = 4 * 1024 * 1024

/** Joins the pieces of a large body in slices, one per tick. */
export async function joinInSlices (pieces: readonly Buffer[]): Promise<Buffer> {
  const [first] = pieces
  if (pieces.length === 1 && first !== undefined) return first
  const bytes = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  let pauseAt = maxCopiedBytes
  for (const piece of pieces) {
    at += piece.copy(bytes, at)
    if (at < pauseAt) continue
    pauseAt = at + maxCopiedBytes
    await yieldFairly()
  }
  return bytes
}
