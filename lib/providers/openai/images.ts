/**
 * OpenAI's image API: new images, complete or as a stream of named events.
 *
 * @see https://platform.openai.com/docs/api-reference/images
 */

import { readError } from '../chat-completions/errors.ts'
import { jsonOrSse } from '../json-api.ts'
import { readImageResponse } from './image-response.ts'
import { readImageStream } from './image-stream.ts'
import type { ImageEvent } from '../../core/events.ts'
import type { ImageRequest } from '../../../schemas/images.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'

/** Fields sent with the caller's value. */
const forwarded = [
  'prompt', 'n', 'size', 'style', 'response_format', 'output_format', 'background', 'moderation', 'user'
] as const satisfies ReadonlyArray<keyof ImageRequest>

/** Reads the responses of all image endpoints. */
export const readImages = jsonOrSse(readImageResponse, readImageStream)

export const openaiImages: Adapter<ImageRequest, ImageEvent> = {
  request: imageRequest,
  read: readImages,
  error: readError
}

function imageRequest (input: AdapterInput<ImageRequest>): UpstreamRequest {
  return {
    method: 'POST',
    path: '/images/generations',
    headers: {
      'content-type': 'application/json',
      accept: input.streamed ? 'text/event-stream' : 'application/json'
    },
    body: JSON.stringify({
      ...pick(input, forwarded),
      ...outputFields(input),
      model: input.route.model
    })
  }
}

/** Returns the output fields of any image request, by the provider's rules. */
export function outputFields ({
  request,
  streamed
}: AdapterInput<Pick<ImageRequest, 'quality' | 'output_compression' | 'partial_images'>>): Record<
  string,
  unknown
> {
  const { quality, output_compression: compression, partial_images: partials } = request
  return {
    // Older models reject the word although they behave like it.
    ...quality !== undefined && quality !== 'auto' && { quality },
    // 100 is the default, and is rejected for formats without compression.
    ...compression !== undefined && compression !== 100 && { output_compression: compression },
    ...streamed && { stream: true },
    ...streamed && partials !== undefined && { partial_images: partials }
  }
}

/** Returns the named fields that are present, without those that the model refuses. */
export function pick<T extends object> (
  { request, route }: Pick<AdapterInput<T>, 'request' | 'route'>,
  fields: ReadonlyArray<keyof T & string>
): Partial<T> {
  const refused = route.traits?.images?.unsupported
  const picked: Partial<T> = {}
  for (const field of fields) {
    if (request[field] !== undefined && refused?.includes(field) !== true) picked[field] = request[field]
  }
  return picked
}
