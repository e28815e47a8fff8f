import { open } from 'node:fs/promises'
import { expectRegularFile, readWithoutWaiting } from '../net/read-regular-file.ts'

const pieceBytes = 1024 * 1024
const newline = 0x0a

/**
 * Yields the lines of a file from last to first, in one list per block. The file may be of any size: at most
 * two blocks are in memory. A block without a line break is not a valid line and is skipped.
 *
 * @throws the error of the system, or that of `expectRegularFile`
 */
export async function * linesFromEnd (path: string): AsyncGenerator<string[], void, undefined> {
  const file = await open(path, readWithoutWaiting)
  try {
    const stat = await file.stat()
    expectRegularFile(stat)
    let end = stat.size
    /** The end of a line that starts in an earlier block. */
    let tail = Buffer.alloc(0)
    while (end > 0) {
      const start = Math.max(0, end - pieceBytes)
      const piece = Buffer.alloc(end - start)
      const { bytesRead } = await file.read(piece, 0, piece.length, start)
      end = start
      const bytes = Buffer.concat([piece.subarray(0, bytesRead), tail])
      const lineEnd = start === 0 ? -1 : bytes.indexOf(newline)
      if (start > 0 && lineEnd < 0) {
        tail = Buffer.alloc(0)
        continue
      }
      tail = bytes.subarray(0, Math.max(lineEnd, 0))
      yield bytes.subarray(lineEnd + 1).toString().split('\n').toReversed()
    }
  } finally {
    await file.close()
  }
}
