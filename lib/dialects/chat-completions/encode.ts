/** Chat events to the frames of an event stream, one piece of text per batch. */

import { randomBytes } from 'node:crypto'
import { ChunkBuilder, type Chunk } from './chunk.ts'
import { placeholder } from '../../json/placeholder.ts'
import { frameOf, streamFrames, type Frame } from './stream-frames.ts'
import type { FramePrinter } from '../../wire/frame-printer.ts'
import { endOfStream, sseData } from '../../wire/sse.ts'
import type { AnswerHead, AnswerStart } from '../dialect.ts'
import type { ChatEvent } from '../../core/events.ts'

/** Returns the printer of a streamed chat completion. */
export function encodeChunks (start: AnswerStart): FramePrinter<ChatEvent, string | Uint8Array> {
  return new Printer(start)
}

class Printer implements FramePrinter<ChatEvent, string | Uint8Array> {
  readonly #head: AnswerHead
  readonly #withUsage: boolean
  readonly #chunks: ChunkBuilder
  readonly #obfuscated: boolean
  /** The text around that of a delta, per choice: printed once, used for every delta. */
  readonly #frames: Array<Frame | undefined> = [undefined] // with room for the first only: a list that grows has room for 16

  constructor ({ head, call }: AnswerStart) {
    const { stream_options: options } = call.request
    this.#obfuscated = options?.include_obfuscation === true
    this.#head = head
    this.#withUsage = options?.include_usage === true
    this.#chunks = new ChunkBuilder(head, this.#withUsage)
  }

  print (events: readonly ChatEvent[]): string | Uint8Array {
    let text = ''
    let isBytes = false
    for (const event of events) {
      const frame = event.type === 'text-run' && !this.#chunks.hasPending ? this.#frames[event.choice] : undefined
      if (event.type === 'text-run' && frame !== undefined && (event.isAscii || frame.isAscii)) {
        if (!event.isAscii && !isBytes) {
          text = asBytes(text)
          isBytes = true
        }
        text = appendRun(text, event.literals, frame)
      } else {
        const frames = this.#printEvent(event)
        text += isBytes ? asBytes(frames) : frames
      }
    }
    return isBytes ? Buffer.from(text, 'latin1') : text
  }

  #printEvent (event: ChatEvent): string {
    const frame = event.type === 'text-delta' && !this.#chunks.hasPending && event.logprobs === undefined
      ? this.#frames[event.choice]
      : undefined
    return frame !== undefined && event.type === 'text-delta'
      ? frame.before + JSON.stringify(event.text) + frame.after
      : this.#printUncached(event)
  }

  end (): string {
    const end = this.#obfuscated ? undefined : this.#chunks.plainEnd
    if (end !== undefined) return streamFrames(this.#head, this.#withUsage).end(this.#head, end)
    return this.#printChunks(this.#chunks.end()) + endOfStream
  }

  #printUncached (event: ChatEvent): string {
    if (event.type === 'text-delta' && event.logprobs === undefined && !this.#chunks.hasPending && !this.#obfuscated) return this.#printFirst(event)
    return this.#printChunks(this.#chunks.of(event))
  }

  /** Prints the first text of a choice, and what is around it for all others. */
  #printFirst ({ choice, text }: ChatEvent & { type: 'text-delta' }): string {
    if (choice === 0 && this.#chunks.begin(choice)) {
      const frames = streamFrames(this.#head, this.#withUsage)
      const frame = this.#frames[choice] = frames.text(this.#head)
      return frames.role(this.#head) + frame.before + JSON.stringify(text) + frame.after
    }
    const chunks = this.#chunks.of({ type: 'text-delta', choice, text: placeholder })
    const frame = frameOf(chunks.at(-1))
    this.#frames[choice] = frame
    return this.#printChunks(chunks.slice(0, -1)) + frame.before + JSON.stringify(text) + frame.after
  }

  #printChunks (chunks: readonly Chunk[]): string {
    return chunks.map(chunk => sseData(JSON.stringify(this.#obfuscated ? obfuscated(chunk) : chunk))).join('')
  }
}

/**
 * Appends what stands in JSON already, between the same halves as other deltas. One `join` prints all of it: pieces that are put
 * together later are copied once more.
 */
function appendRun (text: string, literals: readonly string[], { before, after }: Frame): string {
  const [first = '', ...pieces] = literals
  pieces.unshift(`${text}${before}"${first}`)
  pieces.push(`${pieces.pop() ?? ''}"${after}`)
  return pieces.join(`"${after}${before}"`)
}

/** Returns text as its bytes in UTF-8, each a character. */
function asBytes (text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')
}

/** Adds random padding, so that the length of a frame reveals nothing about its text. */
function obfuscated (chunk: Chunk): Chunk {
  if (chunk.choices.length === 0) return chunk
  const length = 1 + randomBytes(1).readUInt8() % 16
  return { ...chunk, obfuscation: randomBytes(12).toString('base64url').slice(0, length) }
}
