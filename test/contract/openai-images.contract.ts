/**
 * Validates the requests of the image adapter and the answers of the sandbox against OpenAI's API
 * description.
 */

import { openaiImages } from '../../lib/providers/openai/images.ts'
import { makeImages } from '../../lib/sandbox/images.ts'
import { description } from '../support/description.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'
import type { ImageRequest } from '../../schemas/images.ts'

const requests: ReadonlyArray<Omit<ImageRequest, 'prompt'>> = [
  {},
  { model: 'openai/dall-e-2', n: 10, size: '256x256', response_format: 'url', user: 'u', quality: 'auto' },
  {
    model: 'openai/dall-e-3',
    n: 1,
    size: '1792x1024',
    response_format: 'b64_json',
    quality: 'hd',
    style: 'vivid'
  },
  {
    n: 2,
    size: 'auto',
    quality: 'high',
    background: 'transparent',
    moderation: 'low',
    output_format: 'webp',
    output_compression: 50
  },
  { stream: true, partial_images: 2 },
  { stream: false, partial_images: 2 }
]

function askFor (request: Omit<ImageRequest, 'prompt'>, model: string): AdapterInput<ImageRequest> {
  const route = { providerId: 'openai', model, modelId: `openai/${model}` }
  return { request: { prompt: 'a cat', ...request }, route, quirks: {}, streamed: request.stream === true }
}

const api = description('openai.json')
if (api !== undefined) {
  const { check } = api

  for (const request of requests) {
    const { body } = openaiImages.request(askFor(request, 'gpt-image-1'))
    check('CreateImageRequest', JSON.parse(String(body)), `request: ${JSON.stringify(request)}`)
  }

  // The sandbox stands in for the provider, so its answers must match the API too.
  for (const request of [{ n: 2, size: '8x8' }, { size: '8x8', stream: true, partial_images: 2 }]) {
    const { body } = await makeImages(openaiImages.request(askFor(request, 'painter')), { wordsPerSecond: 0 })
    for (const step of body) {
      if (step.type !== 'send') continue
      const text = String(step.bytes)
      if (request.stream === undefined) {
        const answer = JSON.parse(text) as { size: string } // validated below
        check('ImagesResponse', { ...answer, size: '1024x1024' }, 'complete answer, but for its small size')
      } else {
        // validated below
        const event = JSON.parse(text.slice(text.indexOf('data: ') + 6)) as { size: string }
        check(
          'ImageGenStreamEvent',
          { ...event, size: '1024x1024' },
          'event of a stream, but for its small size'
        )
      }
    }
  }
}
