import { pipeline } from 'node:stream/promises'
import type { Writable } from 'node:stream'
import { printableLines } from '../text/printable.ts'

/**
 * Prints pieces of text, each once there is room for it: unchanged to a file or a program, with control
 * characters escaped to a terminal. When the reader of the output has closed it, as `head` does, the source
 * is returned without an error.
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

/** The second case: the output had already ended. */
const goneCodes: ReadonlySet<unknown> = new Set(['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])
