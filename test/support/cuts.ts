/** The ways a stream of bytes can arrive: reading must not depend on them. */

export const cutSizes = ['complete', 'per event', 64, 7, 1] as const

export function cut (bytes: Uint8Array, size: typeof cutSizes[number]): Uint8Array[] {
  if (size === 'complete') return [bytes]
  if (size === 'per event') {
    const text = Buffer.from(bytes).toString('latin1')
    return text.split(/(?<=\n\r?\n|\r\n\r\n)/).map(piece => Buffer.from(piece, 'latin1'))
  }
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}
