type Body = string | Uint8Array | (() => AsyncIterable<Uint8Array>) | undefined

/** Returns the body of a request that never leaves the process, in one piece. */
export async function bufferBody (body: Body): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const pieces: Uint8Array[] = []
  for await (const piece of body()) pieces.push(piece)
  return Buffer.concat(pieces)
}
