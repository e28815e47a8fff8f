/** Chat events to the frames of an event stream, one piece of text per batch. */

import { randomBytes } from 'node:crypto'
import { ChunkBuilder, type Chunk } from './chunk.ts'
import { copyString } from '../../text/copy-string.ts'
import { endOfStream, sseData } from '../../wire/sse.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { FramePrinter } from '../../wire/frame-printer.ts'

/** Returns the printer of a streamed chat completion. */
export function encodeChunks (start: AnswerStart): FramePrinter<ChatEvent> {
  return new Printer(start)
}

class Printer implements FramePrinter<ChatEvent> {
  readonly #chunks: ChunkBuilder
  readonly #obfuscated: boolean
  /** The text around that of a delta, per choice: printed once, used for every delta. */
  readonly #frames: Array<{ before: string, after: string } | undefined> = []
  /** Set while something waits to travel with the next chunk. */
  #plain = true

  constructor ({ head, call }: AnswerStart) {
    const { stream_options: options } = call.request
    this.#obfuscated = options?.include_obfuscation === true
    this.#chunks = new ChunkBuilder(head, options?.include_usage === true)
  }

  print (events: readonly ChatEvent[]): string {
    let text = ''
    for (const event of events) {
      const frame = event.type === 'text-delta' && this.#plain && event.logprobs === undefined
        ? this.#frames[event.choice]
        : undefined
      if (frame !== undefined && event.type === 'text-delta') {
        text += frame.before + JSON.stringify(event.text) + frame.after
      } else {
        text += this.#printUncached(event)
      }
    }
    return text
  }

  end (): string {
    return this.#printChunks(this.#chunks.end()) + endOfStream
  }

  #printUncached (event: ChatEvent): string {
    const chunks = this.#chunks.of(event)
    this.#plain = !(event.type === 'extra' && chunks.length === 0)
    if (event.type === 'text-delta' && this.#frames[event.choice] === undefined && !this.#obfuscated) {
      this.#frames[event.choice] = frameOf(this.#chunks.of({ type: 'text-delta', choice: event.choice, text: placeholder })[0])
    }
    return this.#printChunks(chunks)
  }

  #printChunks (chunks: readonly Chunk[]): string {
    return chunks.map(chunk => sseData(JSON.stringify(this.#obfuscated ? obfuscated(chunk) : chunk))).join('')
  }
}

/** A text that JSON prints as it is and that stands nowhere else in a chunk. */
const placeholder = '\u2063headgate\u2063'

/**
 * Returns the text around a delta, taken from a chunk of the one mapping: printing a delta between the
 * halves costs 0.1 µs, `JSON.stringify` of the chunk more than ten times that.
 */
function frameOf (chunk: Chunk | undefined): { before: string, after: string } | undefined {
  const [before, after] = chunk === undefined ? [] : sseData(JSON.stringify(chunk)).split(JSON.stringify(placeholder))
  return before === undefined || after === undefined ? undefined : { before: copyString(before), after: copyString(after) }
}

/** Adds random padding, so that the length of a frame reveals nothing about its text. */
function obfuscated (chunk: Chunk): Chunk {
  if (chunk.choices.length === 0) return chunk
  const length = 1 + randomBytes(1).readUInt8() % 16
  return { ...chunk, obfuscation: randomBytes(12).toString('base64url').slice(0, length) }
}
