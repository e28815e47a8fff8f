/**
 * Puts values in the place of placeholders in an answer that is printed already: what is stored of it, or
 * noted for a project that keeps bodies, has the placeholders.
 */

import { HeldTexts } from '../guards/held-texts.ts'
import { PlaceholderFilter } from '../guards/placeholder-filter.ts'
import { sseFrame, sseReader, type SseReader } from '../wire/sse.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Reply } from '../core/reply.ts'
import type { DirectTexts } from '../dialects/dialect.ts'

/** Returns the reply, with its texts restored for its caller. */
export function withRestoredTexts (reply: Reply, placeholders: Placeholders, texts: DirectTexts): Reply {
  return {
    ...reply,
    forCaller: noted => ({ ...noted, body: restoredBody(noted.body, placeholders, texts) })
  }
}

function restoredBody (body: Reply['body'], placeholders: Placeholders, texts: DirectTexts): Reply['body'] {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    return restoredFrames(body, placeholders, texts)
  }
  if (placeholders.size === 0) return body
  return texts.answer.replaceIn(textOf(body), new PlaceholderFilter(placeholders).replace)
}

/**
 * Yields the frames of a stream with their texts restored. What comes before the first placeholder passes.
 */
async function* restoredFrames (
  frames: AsyncIterable<string | Uint8Array>,
  placeholders: Placeholders,
  texts: DirectTexts
): AsyncGenerator<string | Uint8Array, void, undefined> {
  let stream: RestoredStream | undefined
  for await (const piece of frames) {
    if (stream === undefined && placeholders.size === 0) {
      yield piece
      continue
    }
    stream ??= new RestoredStream(placeholders, texts)
    const restored = stream.push(piece)
    if (restored !== '') yield restored
  }
  const rest = stream?.end() ?? ''
  if (rest !== '') yield rest
}

class RestoredStream {
  readonly #reader = sseReader(Infinity) // the frames are ours
  readonly #held: HeldTexts

  constructor (placeholders: Placeholders, texts: DirectTexts) {
    this.#held = new HeldTexts(new PlaceholderFilter(placeholders), texts)
  }

  push (piece: string | Uint8Array): string {
    return this.#restored(this.#reader.push(typeof piece === 'string' ? Buffer.from(piece) : piece))
  }

  end (): string {
    const events: ChatEvent[] = []
    const rest = this.#restored(this.#reader.end())
    this.#held.end(events)
    return rest + printed(events)
  }

  #restored (messages: ReturnType<SseReader['push']>): string {
    const events: ChatEvent[] = []
    let text = ''
    for (const { event, data } of messages) {
      if (data.startsWith('{')) {
        this.#held.push({ type: 'direct-frame', name: event, json: data }, events)
        continue
      }
      // The end of the stream: nothing follows that could complete a placeholder.
      this.#held.end(events)
      text += printed(events.splice(0)) + sseFrame(event, data)
    }
    return text + printed(events)
  }
}

function printed (events: readonly ChatEvent[]): string {
  return events.map(event => event.type === 'direct-frame' ? sseFrame(event.name, event.json) : '').join('')
}

function textOf (body: string | Uint8Array): string {
  return typeof body === 'string'
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
}
