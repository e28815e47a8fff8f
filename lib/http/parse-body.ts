/** Parses a JSON body, a large one in slices, and says what is wrong with a body that is not JSON. */

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import { sliceBytes } from '../core/request-size.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { isDeeperThan } from '../json/parse-bounded.ts'
import {
  NestedTooDeepError, NotUtf8Error, StringTooLongError, parseInSlices
} from '../json/parse-in-slices.ts'
import { joinInSlices } from '../wire/buffer-body.ts'
import type { MediaStrings } from '../json/media-strings.ts'

export interface ParsedBody {
  /** A promise for a large body. */
  readonly value: unknown
  /** The text of a body that is not large. */
  readonly text?: string
}

export interface ParseBounds {
  /** Maximum nesting inside the body, which itself does not count. */
  readonly maxDepth: number
  /** Maximum bytes of a string that is not media. */
  readonly maxStringBytes: number
}

/**
 * @param media extracts the media of a large body
 * @throws GatewayError `invalid_json`, `file_too_large`; for a large body, the promise rejects
 */
export function parseBody (pieces: readonly Buffer[], bounds: ParseBounds, media?: MediaStrings): ParsedBody {
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  if (sizeBytes > sliceBytes) return { value: parseLarge(pieces, bounds, media) }
  const [first] = pieces
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  // Lenient decoding would send the model another text.
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_json', { cause, message: invalidJsonMessage(cause, text) })
  }
  if (isDeeperThan(value, bounds.maxDepth + 1)) throw tooDeep(bounds)
  return { value, text }
}

/** Describes where a body stops being JSON, by the position that V8 reports, without quoting it. */
function invalidJsonMessage (cause: unknown, text: string): string {
  if (text.trim() === '') return 'The body is empty. Send a JSON object.'
  const message = cause instanceof Error ? cause.message : ''
  const at = /at position (\d+)/.exec(message)?.[1]
  if (at === undefined) {
    return /end of JSON/.test(message)
      ? `The body is not JSON: it ends too early, after ${text.length} characters.`
      : 'The body is not JSON.'
  }
  const before = text.slice(0, Number(at)).split('\n')
  const reason =
    /^(?:Bad|Expected|Exponent|No number|Unterminated|Unexpected (?:non-whitespace|end))(?:(?! in JSON| after JSON| or '| at position).)*/.exec(
      message
    )?.[0]
  return `The body is not JSON: ${reason === undefined ? 'unexpected character' : reason.charAt(0).toLowerCase() + reason.slice(1)} at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}.`
}

/** Parses over several ticks; validating and sending the body takes another. */
async function parseLarge (
  pieces: readonly Buffer[],
  bounds: ParseBounds,
  media: MediaStrings | undefined
): Promise<unknown> {
  const { maxDepth, maxStringBytes } = bounds
  try {
    const value = await parseInSlices(await joinInSlices(pieces), maxDepth + 1, { media, maxStringBytes })
    await yieldFairly()
    return value
  } catch (cause) {
    if (cause instanceof NotUtf8Error) throw notUtf8()
    if (cause instanceof StringTooLongError) throw stringTooLong(bounds)
    if (cause instanceof NestedTooDeepError) throw tooDeep(bounds)
    throw new GatewayError('invalid_json', { cause, message: 'The body is not JSON.' })
  }
}

function notUtf8 (): GatewayError {
  return new GatewayError('invalid_json', { message: 'The body is not UTF-8.' })
}

function stringTooLong ({ maxStringBytes }: ParseBounds): GatewayError {
  return new GatewayError('file_too_large', {
    message: `The body has a string of more than ${formatMegabytes(maxStringBytes)} that is not base64.`
  })
}

function tooDeep ({ maxDepth }: ParseBounds): GatewayError {
  return new GatewayError('invalid_json', { message: `The body is nested deeper than ${maxDepth} levels.` })
}
