import { GatewayError } from '../../core/errors.ts'
import { copyCall, type Batch, type RoutedCall } from '../../core/call.ts'
import type { OcrInput } from '../../ocr/input.ts'
import { once } from '../../pipeline/sources.ts'
import type { Stage } from '../../pipeline/stage.ts'

/**
 * Retries once when the provider reports that the document at an address is an image: a URL often does not
 * show the type.
 */
export function retryAsImage<E> (
  input: Stage<RoutedCall<OcrInput>, Batch<OcrInput, E>>
): Stage<RoutedCall<OcrInput>, Batch<OcrInput, E>> {
  return async function * (source) {
    for await (const call of source) {
      try {
        yield * input(once(call))
      } catch (error) {
        const { document, asImage } = call.request
        const isImage = error instanceof GatewayError && error.code === 'unsupported_format' &&
          document.kind === 'address' && !document.isImage && asImage !== true
        if (!isImage) throw error
        yield * input(once(copyCall(call, { request: { ...call.request, asImage: true } })))
      }
    }
  }
}
