/**
 * Images from Gemini's image models, which answer `generateContent` with images instead of text.
 *
 * Each request gives one image; several are requested in parallel. Streaming would not deliver images
 * earlier, so complete answers are always requested.
 *
 * @see https://ai.google.dev/gemini-api/docs/image-generation
 */

import { GatewayError } from '../../core/errors.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { splitChoices, jsonHeaders } from '../json-api.ts'
import { inBandError, readError } from './errors.ts'
import { finishReasonOf } from './finish-reason.ts'
import { readUsageMetadata } from './usage.ts'
import { nonEmptyText, objectOf, objectsOf } from '../../json/type-guards.ts'
import type { AnswerPart, GenerateContentRequest, GenerateContentResponse } from './wire.ts'
import type { ImageData, ImageEvent } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { ImageRequest, ImageUsage } from '../../../schemas/images.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'
import { nowSeconds } from '../../core/reply.ts'

export const googleImages: Adapter<ImageRequest, ImageEvent> = {
  request: imageRequest,
  read: () => ({ as: 'json', read: readImages }),
  error: readError,
  split: splitChoices(1)
}

const aspectRatios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']

function imageRequest ({ request, route }: AdapterInput<ImageRequest>): UpstreamRequest {
  refuseUnsupported(request)
  const aspectRatio = aspectRatioOf(request.size)
  const body: GenerateContentRequest = {
    contents: [{ role: 'user', parts: [{ text: request.prompt }] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...aspectRatio !== undefined && { imageConfig: { aspectRatio } }
    }
  }
  return {
    method: 'POST',
    path: `/v1beta/models/${encodeURIComponent(route.model)}:generateContent`,
    headers: jsonHeaders,
    body: JSON.stringify(body)
  }
}

/** Rejects fields that change what the caller gets; fields that only tune are dropped. */
function refuseUnsupported ({
  response_format: format,
  background,
  output_format: output = 'png'
}: ImageRequest): void {
  const param =
    format === 'url'
      ? 'response_format'
      : background === 'transparent'
        ? 'background'
        : output !== 'png'
          ? 'output_format'
          : undefined
  if (param !== undefined) {
    throw new GatewayError('unsupported_parameter', {
      message: `This model does not support this \`${param}\`.`,
      param
    })
  }
}

/** These models accept only an aspect ratio: returns the nearest to the requested size. */
function aspectRatioOf (size: string | undefined): string | undefined {
  if (size === undefined || size === 'auto') return undefined
  const [width = 1, height = 1] = size.split('x').map(Number)
  const distance = (ratio: string): number => {
    const [x = 1, y = 1] = ratio.split(':').map(Number)
    return Math.abs(Math.log(width / height * y / x))
  }
  return aspectRatios.reduce((best, ratio) => distance(ratio) < distance(best) ? ratio : best)
}

/**
 * Reads an answer into `image-answer`, then `usage`.
 *
 * @throws GatewayError with the usage: `content_policy_violation` if a filter removed the image,
 *   `upstream_invalid_response` if it is missing without a reason
 */
function readImages (body: unknown): ImageEvent[] {
  const wire: GenerateContentResponse | undefined = objectOf(Array.isArray(body) ? body[0] : body)
  if (wire === undefined) throw invalidResponse(typeof body)
  const failure = inBandError({ ...wire })
  if (failure !== undefined) throw new ProviderFailure(failure)
  const data = objectsOf(wire.candidates).flatMap(({ content }) => objectsOf(content?.parts).flatMap(imageIn))
  const usage = wire.usageMetadata && readUsageMetadata(wire.usageMetadata, true)
  if (data.length === 0) throw noImage(wire).with({ usage })
  const about = usage === undefined ? {} : { usage: usageForCaller(usage) }
  const events: ImageEvent[] = [{ type: 'image-answer', createdSeconds: nowSeconds(), data, about }]
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

/** The prompt is text only. */
function usageForCaller ({ promptTokens, completionTokens, totalTokens }: Usage): ImageUsage {
  return {
    total_tokens: totalTokens,
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    input_tokens_details: { text_tokens: promptTokens, image_tokens: 0 }
  }
}

function imageIn ({ inlineData, thought }: AnswerPart): ImageData[] {
  // Images in thoughts are drafts.
  const data = nonEmptyText(inlineData?.data)
  return data !== undefined && thought !== true ? [{ b64_json: data }] : []
}

function noImage ({ candidates, promptFeedback }: GenerateContentResponse): GatewayError {
  const reasons = objectsOf(candidates).map(({ finishReason }) => finishReason)
  const filtered = promptFeedback?.blockReason !== undefined ||
    reasons.some(reason => finishReasonOf(reason, 'none') === 'content_filter')
  return filtered
    ? new GatewayError('content_policy_violation', { param: 'prompt', cause: { reasons } })
    : new GatewayError('upstream_invalid_response', {
        message: 'The answer of the model contains no image.',
        cause: { reasons }
      })
}
