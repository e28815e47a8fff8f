import { GatewayError } from '../core/errors.ts'
import type { OcrInput } from '../ocr/input.ts'
import type { AdapterInput } from './provider.ts'

/**
 * Rejects document URLs: the gateway fetches nothing for callers.
 *
 * @throws GatewayError `unsupported_parameter`, so that the next route may serve the call
 */
export function rejectDocumentUrls (input: AdapterInput<OcrInput>): AdapterInput<OcrInput> {
  if (input.request.document.kind === 'bytes') return input
  throw new GatewayError('unsupported_parameter', {
    message: 'The local engine supports data URLs only.', param: 'document'
  })
}
