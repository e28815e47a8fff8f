/** Reads a complete response of the image API. */

import { inBandError } from '../chat-completions/errors.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { countOf, nonEmptyText, numberOf, objectOf } from '../../json/type-guards.ts'
import type { ImageData, ImageEvent } from '../../core/events.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'
import { nowSeconds } from '../../core/reply.ts'

const aboutFields = ['usage', 'size', 'quality', 'background', 'output_format']

/**
 * Returns `image-answer`, then `usage` if reported. An empty list is valid: some providers omit images that
 * moderation blocked. Items without an image are skipped.
 *
 * @throws ProviderFailure for an error in the body
 * @throws GatewayError `upstream_invalid_response` for an invalid answer, with the usage if no item has an
 *   image
 */
export function readImageResponse (body: unknown): ImageEvent[] {
  const answer = objectOf(body)
  if (answer === undefined) throw invalidResponse(typeof body)
  const failure = inBandError(answer, false)
  if (failure !== undefined) throw new ProviderFailure(failure)
  const { created, data } = answer
  if ((data === undefined || data === null) && created === undefined) {
    throw invalidResponse('the response has neither data nor created')
  }
  const items: unknown = data ?? []
  if (!Array.isArray(items)) throw invalidResponse('the data of the response is not a list')
  const images = items.flatMap(imageOf)
  const usage = imageUsage(answer['usage'])
  if (images.length === 0 && items.length > 0) {
    throw invalidResponse('no item of the response has an image').with({ usage })
  }
  const about: Record<string, unknown> = {}
  for (const field of aboutFields) {
    const value = answer[field]
    const isUnreadable = field === 'usage' && usage === undefined // such as a price
    if (value === undefined || value === null || isUnreadable) continue
    about[field] = value
  }
  const events: ImageEvent[] = [{
    type: 'image-answer',
    createdSeconds: Math.floor(numberOf(created) ?? nowSeconds()),
    data: images,
    about
  }]
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

function imageOf (value: unknown): ImageData[] {
  const { url: address, b64_json: data, revised_prompt: prompt } = objectOf(value) ?? {}
  const url = nonEmptyText(address)
  const base64 = nonEmptyText(data)
  if (url === undefined && base64 === undefined) return []
  return [{
    ...url !== undefined && { url },
    ...base64 !== undefined && { b64_json: base64 },
    ...typeof prompt === 'string' && { revised_prompt: prompt }
  }]
}

/** Reads token counts in the image API's format; `undefined` if none were reported. */
export function imageUsage (value: unknown): Usage | undefined {
  const {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total,
    input_tokens_details: details
  } = objectOf(value) ?? {}
  const images = countOf(objectOf(details)?.['image_tokens'])
  const [prompt, completion, sum] = [input, output, total].map(countOf)
  if (prompt === undefined && completion === undefined) return undefined // a total has no price
  const promptTokens = prompt ?? 0
  const completionTokens = completion ?? 0
  return possibleUsage({
    promptTokens,
    completionTokens,
    totalTokens: sum ?? promptTokens + completionTokens,
    ...images !== undefined && { promptImageTokens: images }
  })
}
