/**
 * Counts the pages of PDFs and reads their text, in a separate process with limits: a file can be crafted to
 * take minutes and gigabytes. A thread would not do: its memory limits exclude data decompressed into
 * buffers.
 */

import { fileURLToPath } from 'node:url'
import type { CallSignal } from '../core/call.ts'
import { WorkQueue } from '../async/work-queue.ts'
import { runProgram } from '../async/run-program.ts'
import { startDeadline } from '../async/start-deadline.ts'
import { maxDepth } from '../json/parse-bounded.ts'
import { parseInSlices } from '../json/parse-in-slices.ts'

export type PdfJob = 'count' | 'text'

const limitMs = 20_000
const memoryKilobytes = 1024 * 1024
/** Maximum text of a document. */
const maxBytes = 64 * 1024 * 1024
const reader = fileURLToPath(new URL('./pdf-reader.js', import.meta.url))
/** Processes at a time: each takes a core and up to a gigabyte. */
const queue = new WorkQueue(2)

/**
 * @param owner the key it belongs to: no key gets a second process while another waits for one
 * @returns undefined if it cannot be counted within 20 seconds
 * @throws the signal's reason
 */
export async function countPages (
  bytes: Uint8Array,
  owner: string,
  signal: CallSignal
): Promise<number | undefined> {
  if (!hasIndex(bytes)) return undefined
  const pages = await inProcess('count', bytes, owner, signal)
  return typeof pages === 'number' ? pages : undefined
}

/**
 * Returns the text layer of each page, in order; empty for a page that is only an image.
 *
 * @returns undefined if it cannot be read within 20 seconds
 * @throws the signal's reason
 */
export async function pageTexts (
  bytes: Uint8Array, owner: string, signal: CallSignal
): Promise<readonly string[] | undefined> {
  const texts = await inProcess('text', bytes, owner, signal)
  return Array.isArray(texts) ? texts.map(String) : undefined
}

/**
 * Returns whether a document has a cross-reference table. Without one, a reader has to search byte by byte
 * and uses ten times the size of the file in memory; real PDFs have one.
 */
function hasIndex (bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('startxref')
}

async function inProcess (
  job: PdfJob,
  bytes: Uint8Array,
  owner: string,
  signal: CallSignal
): Promise<unknown> {
  return await queue.run(
    owner,
    async () => {
      const inTime = startDeadline(limitMs, signal)
      try {
        const result = await runProgram(process.execPath, ['--max-old-space-size=256', reader, job], {
          input: bytes,
          signal: inTime.signal,
          maxBytes,
          memoryKilobytes
        })
        return await parseInSlices(result, maxDepth)
      } catch {
        signal.throwIfAborted()
        return undefined
      } finally {
        inTime.end()
      }
    },
    signal
  )
}
