/**
 * Reads documents with the programs of this machine: the text layer of a PDF if there is one, otherwise
 * recognition of the page images.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { standardSignal } from '../async/cancellation.ts'
import type { CallSignal } from '../core/call.ts'
import { WorkQueue } from '../async/work-queue.ts'
import { imageSize } from '../images/files.ts'
import { checkPages } from '../ocr/page-selection.ts'
import { pageTexts } from '../ocr/pdf.ts'
import { runProgram } from '../async/run-program.ts'
import type { LocalPrograms } from './programs.ts'
import type { SendOptions } from '../providers/provider.ts'

/** Thrown for a document that cannot be read here; the message is for the caller. */
export class UnreadableDocument extends Error {}

// What tesseract's models were made for. Without it, it guesses from the size of the image and
// cuts columns wrong.
const dpi = '192'
const maxPages = 1000
/** Decoded by tesseract, a pixel takes four bytes and more. */
const maxPixels = 100e6
const damaged = 'The image cannot be read. Send a PNG, JPEG or WebP image that is not damaged.'
const imageBytes = 256 * 1024 * 1024
const textBytes = 8 * 1024 * 1024

/** Recognition takes a core for a second or two per page. */
const queue = new WorkQueue(Math.max(1, availableParallelism() - 1))

/**
 * Returns the text of each page, in order; an image is one page.
 *
 * @param selected the pages to read, from 0. Default: all
 * @throws UnreadableDocument when programs are missing or the document is not what it seems; GatewayError
 *   `invalid_value` for a selected page that it does not have; the signal's reason
 */
export async function readPages (
  bytes: Buffer,
  isPdf: boolean,
  programs: LocalPrograms,
  sending: Pick<SendOptions, 'signal' | 'keyId'>,
  selected?: readonly number[]
): Promise<readonly string[]> {
  const { signal, keyId = '' } = sending
  if (!isPdf) {
    return [await queue.run(keyId, async () => await recognise(bytes, programs, signal), signal)]
  }
  const texts = await pageTexts(bytes, keyId, signal)
  if (texts === undefined) {
    throw new UnreadableDocument('The PDF cannot be read. Send one that is neither encrypted nor damaged.')
  }
  if (texts.length > maxPages) throw new UnreadableDocument(`The document has more than ${maxPages} pages.`)
  if (selected !== undefined) checkPages(selected, texts.length)
  const wanted = selected ?? [...texts.keys()]
  const bare = wanted.filter(index => texts[index]?.trim() === '')
  const canRecognise = programs.tesseract !== undefined && programs.pdftoppm !== undefined
  const pages = bare.length > 0 && canRecognise
    ? await recognisePages(bytes, texts, bare, programs, sending)
    : texts
  return wanted.map(index => pages[index] ?? '')
}

async function recognisePages (
  bytes: Buffer,
  texts: readonly string[],
  bare: readonly number[],
  programs: LocalPrograms,
  { signal, keyId = '' }: Pick<SendOptions, 'signal' | 'keyId'>
): Promise<readonly string[]> {
  const pages = [...texts]
  const directory = await mkdtemp(join(tmpdir(), 'headgate-ocr-'))
  // The first page that fails ends the others too.
  const failed = new AbortController()
  const either = AbortSignal.any([standardSignal(signal), failed.signal])
  try {
    const file = join(directory, 'document.pdf')
    await writeFile(file, bytes, { mode: 0o600, signal: standardSignal(signal) })
    const results = await Promise.allSettled(
      bare.map(async index => {
        try {
          pages[index] = await queue.run(
            keyId,
            async () => await recognise(await paint(file, index + 1, programs, either), programs, either),
            either
          )
        } catch (error) {
          failed.abort(error)
          throw error
        }
      })
    )
    if (results.some(({ status }) => status === 'rejected')) {
      throw signal.aborted ? signal.reason : failed.signal.reason
    }
    return pages
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** @param number of the page, from 1 */
async function paint (
  file: string,
  number: number,
  { pdftoppm = '' }: LocalPrograms,
  signal: CallSignal
): Promise<Buffer> {
  const page = String(number)
  // The longer side of A4 at that resolution, however large a page says it is.
  const args = ['-scale-to', '2245', '-gray', '-png', '-f', page, '-l', page, file]
  return await runProgram(pdftoppm, args, { signal, maxBytes: imageBytes })
}

async function recognise (image: Buffer, { tesseract }: LocalPrograms, signal: CallSignal): Promise<string> {
  if (tesseract === undefined) {
    throw new UnreadableDocument('Images cannot be read here: tesseract is not installed.')
  }
  const size = imageSize(image)
  if (size === undefined || size.width * size.height === 0) throw new UnreadableDocument(damaged)
  if (size.width * size.height > maxPixels) throw new UnreadableDocument('The image is too large.')
  try {
    const text = await runProgram(tesseract, ['stdin', 'stdout', '--dpi', dpi], {
      input: image,
      signal,
      maxBytes: textBytes
    })
    return text.toString().replaceAll('\f', '').trim()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw new UnreadableDocument(damaged, { cause: error })
  }
}
