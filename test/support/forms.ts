import type { SeenRequest } from './upstream.ts'

/** A field, or a file as its name, its type and its bytes in base64. */
export type SeenPart = readonly [name: string, value: string | { name: string, type: string, base64: string }]

/** Returns the parts of a form sent to a provider, in order, read by the parser built into Node.js. */
export async function partsOf ({
  bytes,
  headers
}: Pick<SeenRequest, 'bytes' | 'headers'>): Promise<SeenPart[]> {
  const form = await new Response(new Uint8Array(bytes), {
    headers: { 'content-type': String(headers['content-type']) }
  }).formData()
  return await Promise.all(
    [...form].map(async ([name, value]): Promise<SeenPart> => {
      if (typeof value === 'string') return [name, value]
      return [
        name,
        {
          name: value.name,
          type: value.type,
          base64: Buffer.from(await value.arrayBuffer()).toString('base64')
        }
      ]
    })
  )
}

/** Returns a WAV file of silence: 8,000 samples a second, 16 bit, one channel. */
export function wavOf (seconds: number): Buffer {
  const size = Math.round(seconds * 16_000)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + size, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(16_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(size, 40)
  return Buffer.concat([head, Buffer.alloc(size)])
}
