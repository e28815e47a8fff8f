import { joinInSlices } from './join-in-slices.ts'

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
