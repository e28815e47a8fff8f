/**
 * Reads an image stream without parsing the images.
 *
 * One event holds megabytes of base64 in one line of JSON. What it is, is in the name of the event
 * or in a `type` at either end of the line, and so is the usage; only short lines, which is where
 * errors are, are parsed.
 */

import { GatewayError } from '../../errors.ts'
import { inBandError } from '../chat-completions/errors.ts'
import { objectOf } from '../chat-completions/wire.ts'
import { imageUsage } from './image-answer.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ImageEvent, Usage } from '../../events.ts'
import type { Ask, StreamReader } from '../provider.ts'

/** A line longer than this holds an image. */
const parsedCharacters = 16 * 1024
/** How much of either end of a long line is looked at. */
const endCharacters = 4 * 1024

/**
 * A finished image may come before the last unfinished one, so the stream is read to its end.
 * Usage comes last, summed over the images.
 *
 * @throws GatewayError for an error inside the stream, and `upstream_stream_interrupted` from
 *   `end()` when fewer images were finished than asked for and the provider did not say that this
 *   is all
 */
export function readImageStream ({ request }: Ask<{ readonly n?: number }>): StreamReader<ImageEvent> {
  let finished = 0
  let usage: Usage | undefined
  let done = false

  const end = (): ImageEvent[] => {
    if (finished === 0 || (!done && finished < (request.n ?? 1))) throw new GatewayError('upstream_stream_interrupted')
    return usage === undefined ? [] : [{ type: 'usage', usage }]
  }

  return {
    get done () { return done },

    message ({ event, data }: EventSourceMessage): ImageEvent[] {
      if (data.length < 16 && data.trim() === '[DONE]') {
        done = true
        return end()
      }
      if (data.length <= parsedCharacters) throwError(data, event)
      const name = event ?? typeIn(data)
      const kind = name === undefined ? undefined : kindOf(name)
      if (name === undefined || kind === undefined) return []
      if (kind === 'image-end') {
        finished++
        usage = sum(usage, usageIn(data))
      }
      return [{ type: kind, json: withType(oneLine(data), name) }]
    },

    end
  }
}

function throwError (data: string, event: string | undefined): void {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    if (event === 'error') throw new GatewayError('upstream_error', { cause: 'an error in words' })
    throw new GatewayError('upstream_invalid_response', { cause })
  }
  const error = inBandError(objectOf(value) ?? {}, event === 'error')
  if (error !== undefined) throw error
}

function kindOf (name: string): 'image-partial' | 'image-end' | undefined {
  if (/^image_(?:generation|edit)\.partial_image$/.test(name)) return 'image-partial'
  return /^image_(?:generation|edit)\.completed$/.test(name) ? 'image-end' : undefined
}

function typeIn (data: string): string | undefined {
  return typeOf(data.slice(0, endCharacters)) ?? typeOf(data.slice(-endCharacters))
}

function typeOf (text: string): string | undefined {
  return /"type"\s*:\s*"(image_[\w.]+)"/.exec(text)?.[1]
}

/** A line break can only stand between the tokens of JSON, where a space says the same. */
function oneLine (data: string): string {
  return data.includes('\n') ? data.replaceAll('\n', ' ') : data
}

/** Our frames have no name, so each must say itself what it is. */
function withType (data: string, name: string): string {
  if (typeIn(data) !== undefined) return data
  return `{"type":${JSON.stringify(name)},${data.slice(data.indexOf('{') + 1)}`
}

function usageIn (data: string): Usage | undefined {
  return usageOf(data.slice(-endCharacters)) ?? usageOf(data.slice(0, endCharacters))
}

/** The object after `"usage":`, which holds objects but no deeper ones. */
function usageOf (text: string): Usage | undefined {
  const found = /"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})/.exec(text)?.[1]
  if (found === undefined) return undefined
  try {
    return imageUsage(JSON.parse(found))
  } catch {
    return undefined // the image is there all the same
  }
}

function sum (a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    totalTokens: a.totalTokens + b.totalTokens
  }
}
