/**
 * Reads an image stream without parsing the images.
 *
 * One event holds megabytes of base64 in one line of JSON. Everything except the image is parsed: event type,
 * usage, errors, and whether the JSON is complete.
 */

import { GatewayError } from '../../core/errors.ts'
import { inBandError } from '../chat-completions/errors.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { nonEmptyText, objectOf } from '../../json/type-guards.ts'
import { aboutImages, imageUsage } from './image-response.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ImageEvent } from '../../core/events.ts'
import { addUsage, type Usage } from '../../core/usage.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'

/**
 * Reads images from a stream. A final image may precede the last partial one, so the stream is read to its
 * end. Each usage report is the sum for all images so far.
 *
 * @throws ProviderFailure for an error inside the stream
 * @throws GatewayError `upstream_stream_interrupted` from `end` if fewer images than requested are final and
 *   the provider did not mark the end
 */
export function readImageStream ({
  request
}: AdapterInput<{ readonly n?: number }>): StreamReader<ImageEvent> {
  let finished = 0
  let usage: Usage | undefined
  let done = false

  const end = (): void => {
    const isCut = finished === 0 || (!done && finished < (request.n ?? 1))
    if (isCut) throw new GatewayError('upstream_stream_interrupted')
  }

  /**
   * @param hasImage false for a message that announces an image without containing it
   * @param json the line of the message, if it holds an image
   */
  const take = (
    message: Record<string, unknown>,
    hasImage: boolean,
    event: string | undefined,
    json: (name: string) => string,
    into: ImageEvent[]
  ): void => {
    const failure = inBandError(message, event === 'error')
    if (failure !== undefined) throw new ProviderFailure(failure)
    const name = event ?? message['type']
    const type = kindOf(name)
    if (type === 'image-partial' && hasImage) into.push({ type, json: json(String(name)) })
    if (type !== 'image-end') return
    if (hasImage) {
      finished++
      into.push({ type, json: json(String(name)), about: aboutImages(message) })
    }
    const reported = imageUsage(message['usage'])
    if (reported === undefined) return
    usage = addUsage(usage, reported) ?? reported
    into.push({ type: 'usage', usage })
  }

  const read = ({ event, data }: EventSourceMessage, into: ImageEvent[]): void => {
    if (data.length < 16 && data.trim() === '[DONE]') {
      done = true
      end()
      return
    }
    const image = placeOfImage(data)
    const message = withoutImage(data, image, event)
    const line = oneLine(data)
    // Our frames have no event name, so the JSON must contain the type.
    const json = (name: string): string => message['type'] === undefined ? withType(line, name) : line
    // Servers that do not stream may send the address of an image.
    const hasImage = image.end > image.start || nonEmptyText(message['url']) !== undefined
    take(message, hasImage, event, json, into)
  }

  return {
    get isDone () { return done },
    read,
    end
  }
}

const upToImage = /^.*?"b64_json"\s*:\s*"/s

/** Returns start and end of the image; both 0 without one, end -1 if it is truncated. */
function placeOfImage (data: string): { readonly start: number, readonly end: number } {
  const start = upToImage.exec(data)?.[0].length ?? 0
  return { start, end: start === 0 ? 0 : data.indexOf('"', start) }
}

/**
 * Returns the event with its image replaced by an empty string.
 *
 * @throws GatewayError `upstream_invalid_response` for invalid JSON, such as a truncated image
 */
function withoutImage (
  data: string,
  { start, end }: ReturnType<typeof placeOfImage>,
  event: string | undefined
): Record<string, unknown> {
  let value: unknown
  try {
    value = parseBounded(end === -1 ? data : data.slice(0, start) + data.slice(end))
  } catch (cause) {
    if (event === 'error') throw new ProviderFailure({ kind: 'error', cause: { words: data.slice(0, 200) } })
    throw invalidResponse(cause)
  }
  return objectOf(value) ?? {}
}

function kindOf (name: unknown): 'image-partial' | 'image-end' | undefined {
  switch (name) {
    case 'image_generation.partial_image': case 'image_edit.partial_image': return 'image-partial'
    case 'image_generation.completed': case 'image_edit.completed': return 'image-end'
  }
  return undefined
}

/** Joins lines by spaces: in JSON, line breaks only occur between tokens. */
function oneLine (data: string): string {
  return data.includes('\n') ? data.replaceAll('\n', ' ') : data
}

function withType (data: string, name: string): string {
  return `{"type":${JSON.stringify(name)},${data.slice(data.indexOf('{') + 1)}`
}
