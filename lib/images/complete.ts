/** Folds image events into the JSON of a complete answer. */

import { GatewayError } from '../core/errors.ts'
import type { Batch } from '../core/call.ts'
import type { AboutImages, ImageData, ImageEvent } from '../core/events.ts'
import { nowSeconds } from '../core/reply.ts'
import { objectOf } from '../json/type-guards.ts'
import type { ImageAnswer, ImageUsage } from '../../schemas/images.ts'

/**
 * Folds batches into one answer, with `data` always present: the images and the usage of all requests, and
 * what the first answer says about its images.
 */
export function toImages (batches: ReadonlyArray<Batch<unknown, ImageEvent>>): ImageAnswer {
  const data: ImageData[] = []
  const abouts: AboutImages[] = []
  let created: number | undefined
  for (const { events } of batches) {
    for (const event of events) {
      if (event.type === 'image-answer') {
        created ??= event.createdSeconds
        data.push(...event.data)
        abouts.push(event.about)
      }
      // A provider that streamed although a complete answer was requested.
      if (event.type === 'image-end') {
        data.push(imageIn(event.json))
        abouts.push(event.about ?? {})
      }
    }
  }
  const { usage: _, ...about } = abouts[0] ?? {}
  const usage = sumOfUsage(abouts)
  return { created: created ?? nowSeconds(), data, ...about, ...usage !== undefined && { usage } }
}

/** Returns the usage of all images; `undefined` if that of some is unknown, since a part would mislead. */
function sumOfUsage ([first, ...others]: readonly AboutImages[]): ImageUsage | undefined {
  return others.reduce<ImageUsage | undefined>(
    (sum, { usage }) => sum && usage && addUsage(sum, usage), first?.usage
  )
}

function addUsage (a: ImageUsage, b: ImageUsage): ImageUsage {
  const input = addDetails(a.input_tokens_details, b.input_tokens_details)
  const output = addDetails(a.output_tokens_details, b.output_tokens_details)
  return {
    total_tokens: a.total_tokens + b.total_tokens,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    ...input && { input_tokens_details: input },
    ...output && { output_tokens_details: output }
  }
}

type TokenDetails = ImageUsage['input_tokens_details']

function addDetails (a: TokenDetails, b: TokenDetails): TokenDetails {
  if (a === undefined || b === undefined) return undefined
  return {
    text_tokens: (a.text_tokens ?? 0) + (b.text_tokens ?? 0),
    image_tokens: (a.image_tokens ?? 0) + (b.image_tokens ?? 0)
  }
}

function imageIn (json: string): ImageData {
  let frame: unknown
  try {
    frame = JSON.parse(json)
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
  const { b64_json, url, revised_prompt } = objectOf(frame) ?? {}
  return {
    ...typeof url === 'string' && { url },
    ...typeof b64_json === 'string' && { b64_json },
    ...typeof revised_prompt === 'string' && { revised_prompt }
  }
}
