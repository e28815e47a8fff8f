/** The request and the answer of OCR that adapters work on. */

import { GatewayError } from '../core/errors.ts'
import type { OcrDocument } from './document.ts'
import type { OcrRequest } from '../../schemas/ocr.ts'
import type { WithoutNulls } from '../../schemas/nullable.ts'

/** An OCR request whose document has been read. */
export interface OcrInput
  extends Pick<WithoutNulls<OcrRequest>, 'model' | 'image_limit' | 'image_min_size'> {
  readonly document: OcrDocument
  /** The pages to read, from 0, in order. Default: all. */
  readonly selected?: readonly number[]
  /** How many are read; present if they could be counted here. */
  readonly pages?: number
  /** True if the caller or a provider states that the address is that of an image. */
  readonly asImage?: boolean
  /** The answer is never streamed. */
  readonly stream?: undefined
}

/** The pages that a provider read. */
export interface OcrPages {
  readonly pages: ReadonlyArray<{ readonly index: number, readonly markdown: string }>
}

/**
 * Rejects parameters of Mistral's API that ask for more than the Markdown of pages, which is all that answers
 * have.
 *
 * @throws GatewayError `unsupported_parameter`
 */
export function rejectUnansweredParameters (request: object): void {
  for (const name of unanswered) {
    const value: unknown = Reflect.get(request, name)
    if (value === undefined || value === null || value === false) continue
    throw new GatewayError('unsupported_parameter', {
      message: `\`${name}\` is not supported: the answer is the Markdown of the pages. Leave it out.`,
      param: name
    })
  }
}

const unanswered = [
  'include_image_base64',
  'bbox_annotation_format',
  'document_annotation_format',
  'document_annotation_prompt',
  'table_format',
  'extract_header',
  'extract_footer',
  'include_blocks',
  'confidence_scores_granularity'
]
