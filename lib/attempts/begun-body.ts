/** Looks at the first bytes of a body before it is decided how the body is read. */

import { bufferBytes } from '../client/body-queue.ts'
import { isSpace } from '../json/characters.ts'
import type { UpstreamBody } from '../providers/provider.ts'

/** As many bytes as the longest field name of an event stream with its colon. */
const minBytes = 'retry:'.length
/** Bytes that are searched for control characters. */
const searchedBytes = 200
const firstPrintable = 0x20

/** A body whose first bytes have arrived. */
export interface BegunBody {
  /** The bytes so far: at least six, unless the body has fewer. */
  readonly start: Buffer
  /** The body from its first byte on. Read it instead of the one it was made from. */
  readonly body: UpstreamBody
}

/**
 * Waits for the first bytes of a body.
 *
 * @throws the error with which the body ends before them
 */
export async function beginBody (body: UpstreamBody): Promise<BegunBody> {
  const rest = body[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  while (sizeBytes < minBytes) {
    const { done, value } = await rest.next()
    if (done === true) break
    pieces.push(value)
    sizeBytes += value.length
  }
  const all = async function * (): AsyncGenerator<Uint8Array, void, undefined> {
    yield * pieces.splice(0)
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  }
  return {
    start: Buffer.concat(pieces),
    body: {
      [Symbol.asyncIterator]: all,
      buffer: async (maxBytes, hold) => await bufferBytes(all(), maxBytes, hold),
      cancel: () => body.cancel()
    }
  }
}

/**
 * Returns true for bytes that begin like JSON, a page of HTML or an event stream and have no control
 * characters, which sound has from its first bytes on.
 */
export function looksLikeText (start: Buffer): boolean {
  const head = start.subarray(0, searchedBytes)
  return (
    /^\ufeff?\s*(?:[{[<]|(?:data|event|id|retry)?:)/.test(head.toString()) &&
    head.every(byte => byte >= firstPrintable || isSpace(byte))
  )
}
