import { yieldFairly } from '../async/yield-fairly.ts'

/** Bytes copied per turn: 60 MB take 50 ms. */
const maxCopiedBytes = 4 * 1024 * 1024

/** Joins the pieces of a large body in slices, one per turn of the event loop. */
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
