/** Folds image events into the JSON of a complete answer. */

import { GatewayError } from '../core/errors.ts'
import type { Batch } from '../core/call.ts'
import type { ImageData, ImageEvent } from '../core/events.ts'
import { nowSeconds } from '../core/reply.ts'
import { objectOf } from '../json/type-guards.ts'

/** Folds batches into `{ created, data, … }`, with `data` always present: the images of all requests. */
export function toImages (batches: ReadonlyArray<Batch<unknown, ImageEvent>>): object {
  let answer: ImageEvent & { type: 'image-answer' } | undefined
  const data: ImageData[] = []
  for (const { events } of batches) {
    for (const event of events) {
      if (event.type === 'image-answer') {
        answer ??= event
        data.push(...event.data)
      }
      // A provider that streamed although a complete answer was requested.
      if (event.type === 'image-end') data.push(imageIn(event.json))
    }
  }
  const { createdSeconds = nowSeconds(), about = {} } = answer ?? {}
  return { created: createdSeconds, data, ...about }
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
