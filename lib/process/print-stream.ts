import { pipeline } from 'node:stream/promises'
import type { Writable } from 'node:stream'

/**
 * Prints pieces of text, each once there is room for it. When the reader of the output has gone, as `head`
 * does, the source is returned and everything is well.
 */
export async function printStream (pieces: AsyncIterable<string>, output: Writable): Promise<void> {
  try {
    await pipeline(pieces, output, { end: false })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && goneCodes.has(error.code))) throw error
  }
}

/** The second where the output had ended before. */
const goneCodes: ReadonlySet<unknown> = new Set(['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])
