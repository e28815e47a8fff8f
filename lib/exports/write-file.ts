/** Writes files of exports, which exist only until they have been delivered. */

import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { hasCode } from '../text/describe-error.ts'

const temporary = /^\.headgate-[\w-]+\.tmp$/

/**
 * Writes pieces of text to a new file in a folder, as fast as the disk accepts them, with one piece at a time
 * in memory. Waits until the file is on disk.
 *
 * The file is readable by its owner and, unless the umask forbids it, by the group of the folder's files.
 *
 * @param use gets the path and the size of the file, which is deleted afterwards if it still exists
 * @throws if the file could not be written, or the signal aborts
 */
export async function withFile (
  folder: string,
  pieces: AsyncIterable<string>,
  { gzip, signal }: { readonly gzip: boolean, readonly signal: AbortSignal },
  use: (file: string, bytes: number) => Promise<void>
): Promise<void> {
  const file = join(folder, `.headgate-${randomUUID()}.tmp`)
  const output = createWriteStream(file, { flags: 'wx', flush: true, mode: 0o640 })
  try {
    const source = Readable.from(pieces, { objectMode: true, highWaterMark: 1 })
    await (gzip ? pipeline(source, createGzip(), output, { signal }) : pipeline(source, output, { signal }))
    await use(file, output.bytesWritten)
  } finally {
    await rm(file, { force: true })
  }
}

/** Deletes what killed processes have left in a folder. */
export async function removeLeftovers (folder: string, beforeMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!temporary.test(name)) continue
    const path = join(folder, name)
    try {
      if ((await stat(path)).mtimeMs < beforeMs) await rm(path, { force: true })
    } catch (error) {
      // Another process has just finished with it.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
}
