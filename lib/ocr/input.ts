import type { OcrDocument } from './document.ts'
import type { OcrRequest } from '../../schemas/ocr.ts'
import type { WithoutNulls } from '../../schemas/nullable.ts'

/** An OCR request whose document has been read. */
export interface OcrInput extends Pick<WithoutNulls<OcrRequest>, 'model'> {
  readonly document: OcrDocument
  /** Present if they could be counted here. */
  readonly pages?: number
  /** True when the caller or a provider says that what is at the address is an image. */
  readonly asImage?: boolean
  /** The answer comes in one piece. */
  readonly stream?: undefined
}

/** The pages a provider read. */
export interface OcrPages {
  readonly pages: ReadonlyArray<{ readonly index: number, readonly markdown: string }>
}
