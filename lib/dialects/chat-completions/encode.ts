/** Prints chat events as frames of an event stream, one string per batch. */

import { randomBytes } from 'node:crypto'
import { ChunkBuilder, type Chunk } from './chunk.ts'
import { copyString } from '../../text/copy-string.ts'
import { isRefused, type GatewayError } from '../../core/errors.ts'
import { errorFrame, endOfStream, sseData, type FramePrinter } from '../../wire/sse-frames.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ChatEvent } from '../../core/events.ts'

/** Returns the printer of a streamed chat completion. */
export function encodeChunks (start: AnswerStart): FramePrinter<ChatEvent> {
  return new Printer(start)
}

type TextDelta = ChatEvent & { readonly type: 'text-delta' }

/** The frame of a text delta, before and after its text. */
interface Halves {
  readonly before: string
  readonly after: string
}

class Printer implements FramePrinter<ChatEvent> {
  readonly #chunks: ChunkBuilder
  readonly #obfuscates: boolean
  /**
   * By choice. Printing text between two halves costs a tenth of printing its chunk. The array begins with
   * one place, because V8 reserves 16 when an empty one grows.
   */
  readonly #halves: Array<Halves | undefined> = [undefined]

  constructor ({ head, call }: AnswerStart) {
    const { stream_options: options } = call.request
    this.#obfuscates = options?.include_obfuscation === true
    const usageCost = call.options?.usageCost
    const sendsUsage = options?.include_usage === true || usageCost !== undefined
    this.#chunks = new ChunkBuilder(head, sendsUsage, usageCost && (() => usageCost(call)))
  }

  print (events: readonly ChatEvent[]): string {
    let text = ''
    for (const event of events) {
      const isPlain =
        event.type === 'text-delta' &&
        event.logprobs === undefined &&
        !this.#obfuscates &&
        !this.#chunks.hasPending
      text += isPlain ? this.#printText(event) : this.#printChunks(this.#chunks.of(event))
    }
    return text
  }

  end (): string {
    return this.#printChunks(this.#chunks.end()) + endOfStream
  }

  fail (failure: GatewayError): string {
    return (isRefused(failure) ? this.#printChunks(this.#chunks.refused()) : '') + errorFrame(failure)
  }

  #printText (event: TextDelta): string {
    let halves = this.#halves[event.choice]
    if (halves !== undefined) return halves.before + JSON.stringify(event.text) + halves.after
    const chunks = this.#chunks.of({ ...event, text: '' })
    halves = this.#halves[event.choice] = halvesOf(chunks.at(-1))
    return this.#printChunks(chunks.slice(0, -1)) + halves.before + JSON.stringify(event.text) + halves.after
  }

  #printChunks (chunks: readonly Chunk[]): string {
    return chunks.map(chunk => sseData(JSON.stringify(this.#obfuscates ? obfuscated(chunk) : chunk))).join('')
  }
}

/**
 * Splits the frame of an empty text at its value. The preceding name is unique, because quotes inside strings
 * are escaped.
 */
function halvesOf (chunk: Chunk | undefined): Halves {
  const [before = '', after = ''] = sseData(JSON.stringify(chunk)).split('"content":""')
  return { before: copyString(`${before}"content":`), after: copyString(after) }
}

/** Adds random padding, so that the frame length does not reveal the text length. */
function obfuscated (chunk: Chunk): Chunk {
  if (chunk.choices.length === 0) return chunk
  const length = 1 + randomBytes(1).readUInt8() % 16
  return { ...chunk, obfuscation: randomBytes(12).toString('base64url').slice(0, length) }
}
