/**
 * Replaces placeholders with their values in a printed answer. The stored answer, and the copy kept for a
 * project that keeps bodies, retain the placeholders.
 */

import { StreamFilter } from '../guards/stream-filter.ts'
import { PlaceholderFilter } from '../guards/placeholder-filter.ts'
import { largeLength, replaceJsonInSlices } from '../guards/replace-in-slices.ts'
import { keepAliveComment, sseFrame } from '../wire/sse-frames.ts'
import { sseDecoder, type StreamDecoder } from '../wire/sse-decoder.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Reply } from '../core/reply.ts'
import type { DirectTexts } from '../dialects/dialect.ts'

/** Maximum characters of a stream that wait, as arguments of a tool do until they are complete. */
const maxHeldLength = 1024 * 1024

/** Returns the reply with its texts restored for its caller. */
export function withRestoredTexts (reply: Reply, placeholders: Placeholders, texts: DirectTexts): Reply {
  return {
    ...reply,
    restoreForCaller: async captured => {
      const { body, keepAlive } = captured
      if (typeof body === 'string' || body instanceof Uint8Array) {
        return { ...captured, body: await restoredBody(body, placeholders, texts) }
      }
      const stream = new RestoredStream(placeholders, texts)
      return {
        ...captured,
        body: stream.frames(body),
        // A numbered event must not overtake waiting ones.
        ...keepAlive !== undefined && {
          keepAlive: { ...keepAlive, text: () => stream.isHolding ? keepAliveComment : shown(keepAlive.text) }
        }
      }
    }
  }
}

function shown (text: string | (() => string)): string {
  return typeof text === 'string' ? text : text()
}

async function restoredBody (
  body: string | Uint8Array,
  placeholders: Placeholders,
  texts: DirectTexts
): Promise<string | Uint8Array> {
  if (placeholders.size === 0) return body
  const filter = new PlaceholderFilter(placeholders)
  const json = bodyText(body)
  return json.length > largeLength
    ? await replaceJsonInSlices(json, filter, texts.answer)
    : texts.answer.replaceIn(json, filter.replace)
}

/**
 * Restores the texts of a stream. A large event ends the texts before it; so does an event that makes more
 * than `maxHeldLength` wait. A placeholder that is cut there stays.
 */
class RestoredStream {
  readonly #placeholders: Placeholders
  readonly #texts: DirectTexts
  readonly #reader: StreamDecoder = sseDecoder(Infinity) // the frames are the gateway's own
  readonly #filter: PlaceholderFilter
  readonly #held: StreamFilter

  constructor (placeholders: Placeholders, texts: DirectTexts) {
    this.#placeholders = placeholders
    this.#texts = texts
    this.#filter = new PlaceholderFilter(placeholders)
    this.#held = new StreamFilter(this.#filter, texts)
  }

  get isHolding (): boolean {
    return this.#held.characters > 0
  }

  /**
   * Yields the frames with their texts restored. Everything before the first placeholder passes unchanged.
   */
  async * frames (
    frames: AsyncIterable<string | Uint8Array>
  ): AsyncGenerator<string | Uint8Array, void, undefined> {
    let isRead = false
    for await (const piece of frames) {
      isRead ||= this.#placeholders.size > 0
      if (!isRead) {
        yield piece
        continue
      }
      yield * this.#restored(this.#reader.push(typeof piece === 'string' ? Buffer.from(piece) : piece))
    }
    yield * this.#restored(this.#reader.end())
    const rest: ChatEvent[] = []
    await this.#held.end(rest)
    if (rest.length > 0) yield printFrames(rest)
  }

  async * #restored (messages: ReturnType<StreamDecoder['push']>): AsyncGenerator<string, void, undefined> {
    const events: ChatEvent[] = []
    let text = ''
    for (const { event, data } of messages) {
      if (data.startsWith('{') && data.length <= largeLength) {
        this.#held.push([{ type: 'direct-frame', name: event, json: data }], events)
        if (this.#held.dueInMs !== undefined) await this.#held.decide(events)
        if (this.#held.characters > maxHeldLength) await this.#held.end(events)
        continue
      }
      await this.#held.end(events)
      text += printFrames(events.splice(0))
      text += sseFrame(
        event,
        data.startsWith('{') ? await replaceJsonInSlices(data, this.#filter, this.#texts.frames, event) : data
      )
    }
    text += printFrames(events)
    if (text !== '') yield text
  }
}

function printFrames (events: readonly ChatEvent[]): string {
  return events.map(event => event.type === 'direct-frame' ? sseFrame(event.name, event.json) : '').join('')
}

function bodyText (body: string | Uint8Array): string {
  return typeof body === 'string'
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
}
