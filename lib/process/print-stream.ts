import { pipeline } from 'node:stream/promises'
import type { Writable } from 'node:stream'
import { printableLines } from '../text/printable.ts'

/**
 * Prints pieces of text, each once there is room for it: as they are to a file or a program, and to a
 * terminal so that nothing in them controls it. When the reader of the output has gone, as `head` does, the
 * source is returned and everything is well.
 */
export async function printStream (
  pieces: AsyncIterable<string>,
  output: Writable & { readonly isTTY?: boolean }
): Promise<void> {
  try {
    await pipeline(output.isTTY === true ? printableOf(pieces) : pieces, output, { end: false })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && goneCodes.has(error.code))) throw error
  }
}

async function * printableOf (pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) yield printableLines(piece)
}

/** The second where the output had ended before. */
const goneCodes: ReadonlySet<unknown> = new Set(['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])
