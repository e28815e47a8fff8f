/** Parses the bytes of a JSON body: a large one in turns of the event loop. */

import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/errors.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { joinInTurns } from '../wire/join-in-turns.ts'
import { isDeeperThan } from '../json/depth.ts'
import { NestedTooDeepError, NotUtf8Error, parseInTurns } from '../json/parse-in-turns.ts'

/** The parser needs up to 4 ms for so many bytes of small values. */
const parsedAtOnceBytes = 256 * 1024

export interface ParsedBody {
  /** A promise for a large body. */
  readonly value: unknown
  /** The text of a body that is not large. */
  readonly text?: string
}

/**
 * @param maxDepth levels in the body, which is none itself
 * @throws GatewayError `invalid_json`; a large body rejects
 */
export function parseBody (pieces: readonly Buffer[], maxDepth: number): ParsedBody {
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  if (sizeBytes > parsedAtOnceBytes) return { value: parseLarge(pieces, maxDepth) }
  const [first] = pieces
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  // Decoded leniently, a model would be sent something else.
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_json', { cause })
  }
  if (isDeeperThan(value, maxDepth + 1)) throw tooDeep(maxDepth)
  return { value, text }
}

/** Parses in turns of the event loop; what validates and sends the body takes one of its own. */
async function parseLarge (pieces: readonly Buffer[], maxDepth: number): Promise<unknown> {
  try {
    const value = await parseInTurns(await joinInTurns(pieces), maxDepth + 1)
    await yieldFairly()
    return value
  } catch (cause) {
    if (cause instanceof NotUtf8Error) throw notUtf8()
    throw cause instanceof NestedTooDeepError ? tooDeep(maxDepth) : new GatewayError('invalid_json', { cause })
  }
}

function notUtf8 (): GatewayError {
  return new GatewayError('invalid_json', { message: 'The body is not UTF-8.' })
}

function tooDeep (maxDepth: number): GatewayError {
  return new GatewayError('invalid_json', { message: `The body is nested deeper than ${maxDepth} levels.` })
}
