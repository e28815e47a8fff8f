import { GatewayError } from '../core/errors.ts'
import type { OcrInput } from '../ocr/input.ts'
import type { AdapterInput } from './provider.ts'

/**
 * Lets only documents through that came with the call: nothing here fetches addresses for callers.
 *
 * @throws GatewayError `unsupported_parameter`, so that another model of the list may do it
 */
export function rejectDocumentUrls (input: AdapterInput<OcrInput>): AdapterInput<OcrInput> {
  if (input.request.document.kind === 'bytes') return input
  throw new GatewayError('unsupported_parameter', {
    message: 'The local engine supports data URLs only.', param: 'document'
  })
}
