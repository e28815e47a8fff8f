/** Events of a choice that wait, in order, until their texts are decided. */

import type { ChatEvent } from '../core/events.ts'
import type { EventPieces, ReadEvent, TextPiece } from './event-texts.ts'
import type { RunningText } from './running-text.ts'

/** A piece of a running text. */
export interface HeldPiece<T> {
  readonly key: string
  readonly text: string
  /** Its position in the text. */
  readonly start: number
  /** `undefined` if the piece is not inspected. */
  readonly running: T | undefined
}

export interface HeldEvent<T> {
  event: ChatEvent
  /** Characters in the event, approximately. */
  readonly size: number
  readonly pieces: ReadonlyArray<HeldPiece<T>>
  replacedBy: EventPieces['replacedBy']
}

/** The queues of one answer, by the queue number from `readEvent`. */
export class EventQueues<T extends RunningText> {
  readonly #queues = new Map<number, EventQueue<T>>()

  /** Characters of the events in all queues. */
  get characters (): number {
    let sum = 0
    for (const { characters } of this.#queues.values()) sum += characters
    return sum
  }

  /** Returns a queue, creating it if necessary. */
  at (number: number): EventQueue<T> {
    let queue = this.#queues.get(number)
    if (queue === undefined) this.#queues.set(number, (queue = new EventQueue()))
    return queue
  }

  all (): Iterable<EventQueue<T>> {
    return this.#queues.values()
  }
}

export class EventQueue<T extends RunningText> {
  readonly #events: Array<HeldEvent<T>> = []
  readonly #texts = new Map<string, T>()
  /** Characters of the queued events. */
  characters = 0
  /** Characters in queued pieces of visible texts. */
  visibleCharacters = 0

  /** The texts that may still grow. */
  get texts (): Iterable<T> {
    return this.#texts.values()
  }

  /** @param open creates the running text of a piece; `undefined` if the piece is not inspected */
  push (
    { event, pieces }: Omit<ReadEvent, 'queue'>,
    open: (piece: TextPiece) => T | undefined
  ): HeldEvent<T> {
    const held: HeldEvent<T> = {
      event,
      size: sizeOf(event),
      pieces: pieces?.list.map(piece => this.#hold(piece, open)) ?? [],
      replacedBy: pieces?.replacedBy ?? (() => event)
    }
    this.characters += held.size
    this.#events.push(held)
    return held
  }

  #hold (piece: TextPiece, open: (piece: TextPiece) => T | undefined): HeldPiece<T> {
    const { key, text } = piece
    const running = this.#texts.get(key) ?? open(piece)
    if (running === undefined) return { key, text, start: 0, running }
    this.#texts.set(key, running)
    if (running.isVisible) this.visibleCharacters += text.length
    return { key, text, running, start: running.add(text) }
  }

  /** Ends the texts whose keys start with a prefix, and returns them. */
  end (prefix: string): T[] {
    return this.endTexts((_, key) => key.startsWith(prefix))
  }

  /** Ends the matching texts, and returns them. */
  endTexts (matches: (text: T, key: string) => boolean): T[] {
    const matching = [...this.#texts].filter(([key, running]) => matches(running, key))
    return matching.flatMap(([key]) => this.endText(key) ?? [])
  }

  /** Ends the text with a key, and returns it. */
  endText (key: string): T | undefined {
    const running = this.#texts.get(key)
    if (running === undefined) return undefined
    running.isEnded = true
    this.#texts.delete(key)
    return running
  }

  /** Appends the events up to the first undecided one to `into`. */
  release (into: ChatEvent[], isDecided: (held: HeldEvent<T>) => boolean): void {
    let released = 0
    for (const held of this.#events) {
      if (!isDecided(held)) break
      const { event, size, pieces } = held
      const texts = pieces.map(piece => this.#take(piece))
      if (texts.every((text, at) => text === pieces[at]?.text)) into.push(event)
      else if (texts.some(text => text !== '')) into.push(held.replacedBy(texts))
      this.characters -= size
      released++
    }
    if (released > 0) this.#events.splice(0, released)
  }

  /** Returns the replacement for a piece. */
  #take ({ running, start, text }: HeldPiece<T>): string {
    if (running === undefined) return text
    if (running.isVisible) this.visibleCharacters -= text.length
    return running.take(start, text)
  }
}

/** Returns the approximate memory of an event, in characters. */
function sizeOf (event: ChatEvent): number {
  const overhead = 64
  return overhead + ('json' in event ? event.json.length : 'text' in event ? event.text.length : 0)
}
