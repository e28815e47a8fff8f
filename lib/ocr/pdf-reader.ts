/**
 * Reads a PDF in a separate process, which `pdf` starts: the document comes from standard input, and the
 * result goes to standard output as JSON.
 */

import { buffer } from 'node:stream/consumers'
import { extractText, getDocumentProxy } from 'unpdf'
import type { PdfJob } from './pdf.ts'

const job = process.argv[2] as PdfJob // as `pdf` wrote it
const document = await getDocumentProxy(new Uint8Array(await buffer(process.stdin)), { verbosity: 0 })
const result =
  job === 'count' ? document.numPages : (await extractText(document, { mergePages: false })).text
process.stdout.write(JSON.stringify(result), () => process.exit())
