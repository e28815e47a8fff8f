/**
 * Mistral's OCR.
 *
 * Images must be declared as images: the API rejects them as documents. Documents kept as bytes are encoded
 * to base64 while they are sent.
 *
 * @see https://docs.mistral.ai/api/endpoint/ocr
 */

import { yieldFairly } from '../../async/yield-fairly.ts'
import { inBandError } from '../chat-completions/errors.ts'
import { invalidResponse, throwFailure } from '../provider-failure.ts'
import { countOf, numberOf, objectOf } from '../../json/type-guards.ts'
import { readError } from './errors.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { OcrPages, OcrInput } from '../../ocr/input.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'
import { jsonHeaders } from '../json-api.ts'

export const mistralOcr: Adapter<OcrInput, ResultEvent<OcrPages>> = {
  request: ocrRequest,
  read: (_head, { request }) => ({ as: 'json', read: body => readPages(body, request.selected) }),
  error: readError
}

/** Bytes per base64 piece; a multiple of three, so that pieces can be concatenated. */
const pieceBytes = 3 * 64 * 1024

function ocrRequest ({ request, route }: AdapterInput<OcrInput>): UpstreamRequest {
  const { document, asImage } = request
  const bodyText = (type: 'document_url' | 'image_url', url: string): string =>
    JSON.stringify({ document: { type, [type]: url }, model: route.model, ...optionsOf(request) })
  const method = 'POST'
  const path = '/ocr'
  if (document.kind === 'address') {
    const type = document.isImage || asImage === true ? 'image_url' : 'document_url'
    return { method, path, headers: jsonHeaders, body: bodyText(type, document.url) }
  }
  const { bytes, mediaType } = document
  const type = mediaType === 'application/pdf' ? 'document_url' : 'image_url'
  // Media types and names contain nothing that JSON would escape.
  const [before = '', after = ''] = bodyText(type, `data:${mediaType};base64,@`).split(',@')
  const [head, tail] = [Buffer.from(`${before},`), Buffer.from(after)]
  const sizeBytes = head.length + Math.ceil(bytes.length / 3) * 4 + tail.length
  return {
    method,
    path,
    headers: { ...jsonHeaders, 'content-length': String(sizeBytes) },
    body: async function * () {
      yield head
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        await yieldFairly() // a provider may accept all pieces without waiting
        yield Buffer.from(bytes.toString('base64', at, Math.min(at + pieceBytes, bytes.length)), 'latin1')
      }
      yield tail
    }
  }
}

function optionsOf ({ selected, image_limit: limit, image_min_size: minSize }: OcrInput): object {
  return {
    ...selected !== undefined && { pages: selected },
    ...limit !== undefined && { image_limit: limit },
    ...minSize !== undefined && { image_min_size: minSize },
    include_image_base64: false
  }
}

/**
 * Returns the pages in order, numbered from 0 whatever the provider starts at: by the numbers of the provider
 * if all of them were selected, otherwise by position.
 *
 * @param selected the requested pages. Default: all
 * @throws GatewayError `upstream_invalid_response` without pages or for an invalid page. The text of a blank
 *   page may be empty or missing
 */
function readPages (body: unknown, selected?: readonly number[]): Array<ResultEvent<OcrPages>> {
  const answer = objectOf(body) ?? {}
  const { pages } = answer
  if (!Array.isArray(pages) || pages.length === 0) {
    throwFailure(inBandError(answer, false), 'the response has no pages')
  }
  const read = pages.map((value, position) => {
    const page = objectOf(value)
    const markdown = page?.['markdown'] ?? ''
    if (page === undefined || typeof markdown !== 'string') {
      throw invalidResponse(`page ${position} is invalid`)
    }
    return { index: numberOf(page['index']) ?? position, markdown }
  })
  const areSelected = selected !== undefined && read.every(({ index }) => selected.includes(index))
  const inOrder = read
    .toSorted((a, b) => a.index - b.index)
    .map((page, index) => areSelected ? page : { ...page, index: selected?.[index] ?? index })
  // Blank pages are billed too, but the answer may lack them.
  const billed = countOf(objectOf(answer['usage_info'])?.['pages_processed']) || inOrder.length
  return [{ type: 'result', result: { pages: inOrder }, units: { pages: billed } }]
}
