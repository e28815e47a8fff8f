/**
 * What the OCR adapter sends and what the sandbox answers, against the API's description. The
 * description is not part of this repository: without it beside the checkout there is nothing to
 * compare with.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { readDocument } from '../../lib/ocr/document.ts'
import { mistralOcr } from '../../lib/providers/mistral/ocr.ts'
import { readDocuments } from '../../lib/providers/sandbox/ocr.ts'
import { wholeBody } from '../../lib/whole-body.ts'
import { textPdf } from '../support/pdf.ts'
import type { OcrDocument } from '../../lib/ocr/document.ts'

const { signal } = new AbortController()
const description = join(import.meta.dirname, '../../../../shared/specs/mistral-ocr.json')

if (!existsSync(description)) {
  t.plan(0, 'skipped: there is no description of the OCR API at ../shared/specs/mistral-ocr.json')
} else {
  const schemas = JSON.parse(readFileSync(description, 'utf8')) as { $id: string } // a JSON Schema
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false }).addSchema(schemas)
  const check = (definition: string, value: unknown, name: string): void => {
    const validate = ajv.getSchema(`${schemas.$id}#/definitions/${definition}`)
    if (validate === undefined) throw new Error(`the description has no ${definition}`)
    t.ok(validate(value), name, { errors: validate.errors })
  }
  const sent = async (document: OcrDocument, asImage = false): Promise<unknown> => {
    const route = { providerId: 'mistral', model: 'mistral-ocr-latest', modelId: 'mistral/mistral-ocr-latest' }
    const { body, headers } = mistralOcr.request({ request: { document, asImage }, route, quirks: {}, streamed: false })
    const bytes = await wholeBody(body)
    if (headers['content-length'] !== undefined) t.equal(headers['content-length'], String(bytes.length))
    return JSON.parse(bytes.toString())
  }

  const pdf = `data:application/pdf;base64,${textPdf([['a'], ['b']]).toString('base64')}`
  for (const url of [
    'https://example.com/a.pdf', 'https://example.com/a.png', pdf, 'data:x;base64,/9j/4AAQSkZJRgABAQ=='
  ]) check('OCRRequest', await sent(await readDocument(url, 1e6, signal)), url.slice(0, 40))
  check('OCRRequest', await sent(await readDocument('https://example.com/a', 1e6, signal), true), 'as an image after all')

  // The sandbox stands in for the provider, so it must answer like it.
  const body = JSON.stringify({ model: 'reader', document: { type: 'document_url', document_url: pdf } })
  const script = await readDocuments({ method: 'POST', path: '/ocr', headers: {}, body })
  for (const step of script.body) {
    if (step.type === 'send') check('OCRResponse', JSON.parse(String(step.bytes)), 'answer of the sandbox')
  }
}
