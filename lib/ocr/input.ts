/** The request and the answer of OCR that adapters work on. */

import type { OcrDocument } from './document.ts'
import type { OcrRequest } from '../../schemas/ocr.ts'
import type { WithoutNulls } from '../../schemas/nullable.ts'

/** An OCR request whose document has been read. */
export interface OcrInput extends Pick<WithoutNulls<OcrRequest>, 'model'> {
  readonly document: OcrDocument
  /** Present if they could be counted here. */
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
