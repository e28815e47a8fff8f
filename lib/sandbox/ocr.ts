/** `POST /ocr`: invented pages, as many as the document has and always the same for a document. */

import { createHash } from 'node:crypto'
import { yieldFairly } from '../async/yield-fairly.ts'
import { MediaStrings } from '../json/media-strings.ts'
import { countPages } from '../ocr/pdf.ts'
import { readJsonBody } from './read-json-body.ts'
import { ocrModel } from './sandbox-models.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { jsonScript, type Script } from './script.ts'
import { composeText } from './text.ts'
import type { SandboxOptions } from './options.ts'
import type { SendOptions, UpstreamRequest } from '../providers/provider.ts'

const wordsPerPage = 60
/** Characters at both ends of a document that determine its text. */
const hashedLength = 1024 * 1024
/** Characters of base64 decoded per tick. */
const decodedLength = 4 * 1024 * 1024

/** @throws SandboxRefusal 404 for another model, 400 for a body without a document */
export async function readDocuments (
  { body }: UpstreamRequest, _options: SandboxOptions, sending: Pick<SendOptions, 'signal' | 'keyId'>
): Promise<Script> {
  const { model, url, selected } = await readBody(body)
  if (model.replace(/^sandbox\//, '') !== ocrModel) {
    throw new SandboxRefusal(404, `The model '${model}' does not exist. Available model: ${ocrModel}.`, {
      code: 'model_not_found',
      param: 'model'
    })
  }
  const count = await pagesOf(url, sending)
  const seed = createHash('sha256')
    .update(String(url.length))
    .update(url.subarray(0, hashedLength))
    .update(url.subarray(-hashedLength))
    .digest()
    .readUInt32BE()
  return jsonScript(200, {
    pages: (selected ?? Array.from({ length: count }, (_, index) => index)).map(index => ({
      index,
      markdown: pageText(seed, index, count),
      images: [],
      dimensions: null
    })),
    model: ocrModel,
    usage_info: { pages_processed: selected?.length ?? count, doc_size_bytes: url.length }
  })
}

interface SandboxBody {
  readonly model: string
  readonly url: Buffer
  readonly selected?: readonly number[]
}

async function readBody (body: UpstreamRequest['body']): Promise<SandboxBody> {
  const media = new MediaStrings()
  const value = await readJsonBody(body, media)
  // each looked at below
  const { model, document, pages } = Object(value) as { model?: unknown, document?: unknown, pages?: unknown }
  const { document_url: document_, image_url: image } = Object(document) as Record<string, unknown>
  const url = document_ ?? image
  if (typeof model !== 'string' || typeof url !== 'string') {
    throw new SandboxRefusal(400, 'The body needs a model and a document.', { param: 'document' })
  }
  return {
    model,
    url: media.bytesOf(url) ?? Buffer.from(url),
    ...Array.isArray(pages) && { selected: pages.filter(page => typeof page === 'number') }
  }
}

/** Counts one page for what is not a PDF, cannot be read, or is elsewhere. */
async function pagesOf (
  url: Buffer,
  { signal, keyId = '' }: Pick<SendOptions, 'signal' | 'keyId'>
): Promise<number> {
  const prefix = 'data:application/pdf;base64,'
  if (url.toString('latin1', 0, prefix.length) !== prefix) return 1
  const bytes = await decoded(url, prefix.length)
  return await countPages(bytes, keyId, signal) ?? 1
}

/** Decodes into memory that a worker can share. */
async function decoded (url: Buffer, from: number): Promise<Buffer> {
  const bytes = Buffer.from(new SharedArrayBuffer(Math.ceil((url.length - from) * 3 / 4)))
  let written = 0
  for (let at = from; at < url.length; at += decodedLength) {
    written += bytes.write(url.toString('latin1', at, at + decodedLength), written, 'base64')
    await yieldFairly()
  }
  return bytes.subarray(0, written)
}

function pageText (seed: number, index: number, count: number): string {
  const question = { raw: '', text: '', instructions: '', attachments: [], results: [], turn: 1 }
  const text = composeText(question, { voice: 'story', words: wordsPerPage, seed: seed + index, choice: 0 })
  return `# Page ${index + 1} of ${count}\n\n${text}\n`
}
