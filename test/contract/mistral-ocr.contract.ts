/**
 * Validates the requests of the OCR adapter and the answers of the sandbox against the API description.
 */

import t from 'tap'
import { readDocument } from '../../lib/ocr/document.ts'
import { mistralOcr } from '../../lib/providers/mistral/ocr.ts'
import { readDocuments } from '../../lib/sandbox/ocr.ts'
import { sandboxOptions } from '../../lib/sandbox/options.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'
import { textPdf } from '../support/pdf.ts'
import { description } from '../support/description.ts'
import type { OcrDocument } from '../../lib/ocr/document.ts'

const { signal } = new AbortController()

const api = description('mistral-ocr.json')
if (api !== undefined) {
  const { check } = api
  const sent = async (document: OcrDocument, asImage = false): Promise<unknown> => {
    const route = {
      providerId: 'mistral',
      model: 'mistral-ocr-latest',
      modelId: 'mistral/mistral-ocr-latest'
    }
    const { body, headers } = mistralOcr.request({
      request: { document, asImage },
      route,
      quirks: {},
      streamed: false
    })
    const bytes = await bufferBody(body)
    if (headers['content-length'] !== undefined) t.equal(headers['content-length'], String(bytes.length))
    return JSON.parse(bytes.toString())
  }

  const pdf = `data:application/pdf;base64,${textPdf([['a'], ['b']]).toString('base64')}`
  for (const url of [
    'https://example.com/a.pdf',
    'https://example.com/a.png',
    pdf,
    'data:x;base64,/9j/4AAQSkZJRgABAQ=='
  ]) {
    check('OCRRequest', await sent(await readDocument(url, 1e6, signal)), url.slice(0, 40))
  }
  check(
    'OCRRequest',
    await sent(await readDocument('https://example.com/a', 1e6, signal), true),
    'as an image after all'
  )

  // The sandbox stands in for the provider, so its answers must match the API too.
  const body = JSON.stringify({ model: 'reader', document: { type: 'document_url', document_url: pdf } })
  const script = await readDocuments(
    { method: 'POST', path: '/ocr', headers: {}, body },
    sandboxOptions({}),
    { signal }
  )
  for (const step of script.body) {
    if (step.type === 'send') check('OCRResponse', JSON.parse(String(step.bytes)), 'answer of the sandbox')
  }
}
