import { GatewayError } from '../core/errors.ts'
import type { OcrInput } from '../ocr/input.ts'
import type { Ask } from './provider.ts'

/**
 * Lets only documents through that came with the call: nothing here fetches addresses for callers.
 *
 * @throws GatewayError `unsupported_parameter`, so that another model of the list may do it
 */
export function rejectDocumentUrls (ask: Ask<OcrInput>): Ask<OcrInput> {
  if (ask.request.document.kind === 'bytes') return ask
  throw new GatewayError('unsupported_parameter', {
    message: 'The local engine supports data URLs only.', param: 'document'
  })
}
