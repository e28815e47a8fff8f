/** Reads PDFs beside the main thread: started by `pdf`, does one job, and is thrown away. */

import { parentPort, workerData } from 'node:worker_threads'
import type { PdfJob } from './pdf.ts'

const { bytes, job } = workerData as { bytes: Uint8Array, job: PdfJob } // as `pdf` wrote it
const { extractText, getDocumentProxy } = await import('unpdf')
// A view of its own: the reader may hand its buffer on.
const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
parentPort?.postMessage(job === 'count'
  ? document.numPages
  : (await extractText(document, { mergePages: false })).text)
