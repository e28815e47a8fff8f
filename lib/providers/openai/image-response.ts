/** Reads a complete response of the image API. */

import { inBandError } from '../chat-completions/errors.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { countOf, nonEmptyText, numberOf, objectOf } from '../../json/type-guards.ts'
import type { AboutImages, ImageData, ImageEvent } from '../../core/events.ts'
import type { ImageUsage } from '../../../schemas/images.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'
import { nowSeconds } from '../../core/reply.ts'

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
  const events: ImageEvent[] = [{
    type: 'image-answer',
    createdSeconds: Math.floor(numberOf(created) ?? nowSeconds()),
    data: images,
    about: aboutImages(answer)
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

/** Reads what an answer or an event reports about its images, without what callers are not promised. */
export function aboutImages (answer: Readonly<Record<string, unknown>>): AboutImages {
  const usage = usageForCaller(answer['usage'])
  return { ...textsAbout(answer), ...usage !== undefined && { usage } }
}

function textsAbout (answer: Readonly<Record<string, unknown>>): AboutImages {
  return Object.fromEntries(
    ['size', 'quality', 'background', 'output_format'].flatMap(field => {
      const value = nonEmptyText(answer[field])
      return value === undefined ? [] : [[field, value]]
    })
  )
}

/** Returns the usage with every count that callers are promised; `undefined` if none were reported. */
function usageForCaller (value: unknown): ImageUsage | undefined {
  const usage = imageUsage(value)
  if (usage === undefined) return undefined
  const { input_tokens_details: input, output_tokens_details: output } = objectOf(value) ?? {}
  const [inputDetails, outputDetails] = [input, output].map(tokenDetails)
  return {
    total_tokens: usage.totalTokens,
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    ...inputDetails && { input_tokens_details: inputDetails },
    ...outputDetails && { output_tokens_details: outputDetails }
  }
}

function tokenDetails (value: unknown): ImageUsage['input_tokens_details'] {
  const { text_tokens: textTokens, image_tokens: imageTokens } = objectOf(value) ?? {}
  const [text, images] = [textTokens, imageTokens].map(countOf)
  if (text === undefined && images === undefined) return undefined
  return {
    ...text !== undefined && { text_tokens: text },
    ...images !== undefined && { image_tokens: images }
  }
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
