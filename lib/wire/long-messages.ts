/**
 * Reads an event stream whose messages may be megabytes: those that are one line of data in ASCII are given as the bytes
 * they came in, and every other as text. A megabyte of base64 takes a third of the time that way.
 */

import { isAscii } from 'node:buffer'
import { bytesAsText, messageTooLarge, type SseReader } from './sse.ts'
import type { EventSourceMessage } from 'eventsource-parser'

/** A message in the bytes it came in. */
export interface LongMessage {
  readonly event: string | undefined
  /** Its data: ASCII in one line. */
  readonly pieces: readonly Buffer[]
}

type Message = EventSourceMessage | LongMessage

interface OpenMessage {
  readonly event: string | undefined
  /** The text before the data. */
  readonly opening: string
  readonly pieces: Buffer[]
  sizeBytes: number
}

const [lf, cr, firstOfMark] = [0x0a, 0x0d, 0xef]
/** Matches how messages begin that may be given as bytes. */
const usualOpening = /^(?:event: ([\w.-]{1,64})\n)?data: (?=\{)/
const maxOpening = 100

export class LongMessages {
  readonly #texts: SseReader
  readonly #maxBytes: number
  #isBegun = false
  #open: OpenMessage | undefined
  /** True when the line of the open message has ended, and only the empty line after it is missing. */
  #isLineOver = false

  /** @param texts reads what is not given as bytes */
  constructor (texts: SseReader, maxBytes: number) {
    this.#texts = texts
    this.#maxBytes = maxBytes
  }

  /**
   * Returns the messages that these bytes complete, which are kept as they are.
   *
   * @throws GatewayError `upstream_invalid_response` for a message over the byte limit
   */
  push (bytes: Buffer): Message[] {
    const into: Message[] = []
    // A message begins where no byte order mark does.
    if (!this.#isBegun && bytes[0] !== firstOfMark) this.#texts.pushText('\n\n', true)
    this.#isBegun = true
    for (let at = 0; at < bytes.length;) {
      if (this.#open === undefined) at = this.#readOpening(bytes, at, into)
      else if (this.#isLineOver) at = this.#readEnd(this.#open, bytes, at, into)
      else at = this.#readLine(this.#open, bytes, at, into)
    }
    return into
  }

  /** Returns the messages that were still open when the stream ended. */
  end (): Message[] {
    const into: Message[] = []
    if (this.#open !== undefined) this.#readAsText(this.#open, into)
    into.push(...this.#texts.end())
    return into
  }

  #readOpening (bytes: Buffer, from: number, into: Message[]): number {
    const [opening, event] = (this.#texts.isBetweenMessages ? usualOpening.exec(bytes.toString('latin1', from, from + maxOpening)) : null) ?? []
    if (opening !== undefined) {
      this.#open = { event, opening, pieces: [], sizeBytes: 0 }
      return from + opening.length
    }
    const end = bytes.indexOf('\n\n', from, 'latin1')
    const next = end === -1 ? bytes.length : end + 2
    into.push(...this.#texts.push(bytes.subarray(from, next)))
    return next
  }

  #readLine (open: OpenMessage, bytes: Buffer, from: number, into: Message[]): number {
    const found = bytes.indexOf(lf, from)
    const end = found === -1 ? bytes.length : found
    const piece = bytes.subarray(from, end)
    open.pieces.push(piece)
    open.sizeBytes += piece.length
    if (open.sizeBytes > this.#maxBytes) throw messageTooLarge()
    if (!isAscii(piece) || piece.includes(cr)) {
      this.#readAsText(open, into)
      return end
    }
    this.#isLineOver = found !== -1
    return end + (this.#isLineOver ? 1 : 0)
  }

  #readEnd (open: OpenMessage, bytes: Buffer, at: number, into: Message[]): number {
    if (bytes[at] !== lf) {
      this.#readAsText(open, into)
      return at
    }
    into.push({ event: open.event, pieces: open.pieces })
    this.#open = undefined
    this.#isLineOver = false
    return at + 1
  }

  /** Goes on as if what there is of a message had been read as text. */
  #readAsText ({ opening, pieces }: OpenMessage, into: Message[]): void {
    const lineEnd = this.#isLineOver ? '\n' : ''
    this.#open = undefined
    this.#isLineOver = false
    into.push(...this.#texts.pushText(opening, true))
    for (const piece of pieces) into.push(...this.#texts.push(piece))
    if (lineEnd !== '') into.push(...this.#texts.pushText(lineEnd, true))
  }
}

/** Returns the text of a message that came as bytes. */
export function asTextMessage ({ event, pieces }: LongMessage): EventSourceMessage {
  return { id: undefined, event, data: bytesAsText(Buffer.concat(pieces)) }
}
