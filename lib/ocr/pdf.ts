/**
 * Pages and text of PDFs, read in a worker with limits: a file can be made to take minutes and
 * gigabytes, and that must not be the gateway's own.
 */

import type { CallSignal } from '../core/call-signal.ts'
import { FairSemaphore } from '../async/fair-semaphore.ts'
import { runInWorker } from '../async/run-in-worker.ts'

export type PdfJob = 'count' | 'text'

const limitMs = 20_000
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64, stackSizeMb: 4 }
/** Workers at once: each takes a core and up to half a gigabyte. */
const semaphore = new FairSemaphore(2)

/**
 * @param bytes shared with the worker when they are in a `SharedArrayBuffer`, else copied
 * @param owner the key it belongs to: no key gets a second worker while another waits for one
 * @returns undefined when it cannot be counted within 20 seconds
 * @throws the signal's reason
 */
export async function countPages (
  bytes: Uint8Array,
  owner: string,
  signal: CallSignal
): Promise<number | undefined> {
  if (!hasIndex(bytes)) return undefined
  const pages = await inWorker('count', bytes, owner, signal)
  return typeof pages === 'number' ? pages : undefined
}

/**
 * Returns the text layer of each page, in order; empty for a page that is only a picture.
 *
 * @returns undefined when it cannot be read within 20 seconds
 * @throws the signal's reason
 */
export async function pageTexts (
  bytes: Uint8Array, owner: string, signal: CallSignal
): Promise<readonly string[] | undefined> {
  const texts = await inWorker('text', bytes, owner, signal)
  return Array.isArray(texts) ? texts.map(String) : undefined
}

/**
 * Returns whether a document has a cross-reference table. Without one a reader has to search byte by byte,
 * which takes ten times the size of the file in memory, and real PDFs are not like that.
 */
function hasIndex (bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('startxref')
}

async function inWorker (
  job: PdfJob,
  bytes: Uint8Array,
  owner: string,
  signal: CallSignal
): Promise<unknown> {
  const worker = { workerData: { bytes, job }, limitMs, resourceLimits, signal }
  return await semaphore.run(
    owner,
    async () => await runInWorker(new URL('./pdf-worker.js', import.meta.url), worker),
    signal
  )
}
