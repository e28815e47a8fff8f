/**
 * Images from Together: the answers are OpenAI's, the size is in two fields, and base64 has another name.
 *
 * @see https://docs.together.ai/reference/post-images-generations
 */

import { GatewayError } from '../../core/errors.ts'
import { jsonHeaders, splitChoices } from '../json-api.ts'
import type { ImageEvent } from '../../core/events.ts'
import type { ImageRequest } from '../../../schemas/images.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'

const maxImages = 4

/** @param openai reads the answers */
export function togetherImages (
  openai: Adapter<ImageRequest, ImageEvent>
): Adapter<ImageRequest, ImageEvent> {
  return { ...openai, request: imageRequest, split: splitChoices(maxImages) }
}

/** Always requests a complete answer: there are no partial images. Fields that only tune are dropped. */
function imageRequest ({ request, route }: AdapterInput<ImageRequest>): UpstreamRequest {
  refuseUnsupported(request)
  const { prompt, n, size = 'auto', response_format: format, output_format } = request
  const [width, height] = size === 'auto' ? [] : size.split('x').map(Number)
  return {
    method: 'POST',
    path: '/images/generations',
    headers: jsonHeaders,
    // JSON omits undefined fields.
    body: JSON.stringify({
      model: route.model,
      prompt,
      n,
      width,
      height,
      response_format: format === 'b64_json' ? 'base64' : format,
      output_format
    })
  }
}

/** Rejects what would change the caller's images. */
function refuseUnsupported ({ background, output_format: output }: ImageRequest): void {
  const param =
    background === 'transparent' ? 'background' : output === 'webp' ? 'output_format' : undefined
  if (param === undefined) return
  throw new GatewayError('unsupported_parameter', {
    message: `This model does not support this \`${param}\`.`,
    param
  })
}
