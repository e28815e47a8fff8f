/**
 * Replaces what a filter finds in an answer while it is streamed: a word may be cut anywhere.
 *
 * Events are held, not characters: an event goes on once all characters of its piece, and of those before it
 * in its queue, are decided; one in which nothing is replaced goes on as it came. A character is decided when
 * as many others of its text have come as the longest finding has, or its text has ended. The arguments of a
 * tool are decided when they are complete, since what is in them is JSON. A text that pauses while as many
 * characters of others come in its queue, calls of tools aside, counts as ended: reasoning ends where the
 * answer begins.
 */

import { replaceInJson, type ReplaceText, type TextPlace } from '../json/place-table.ts'
import { readEvent, type ReadEvent, type TextPiece } from './event-texts.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'
import type { TextEdit, TextFilter, TextFilters } from './text-filter.ts'

interface HeldPiece extends TextPiece {
  /** Its place in the running text. */
  readonly start: number
  readonly running: RunningText
}

interface HeldEvent {
  readonly event: ChatEvent
  /** Characters that it holds, at least. */
  readonly size: number
  readonly piece: HeldPiece | undefined
}

interface Queue {
  readonly events: HeldEvent[]
  readonly texts: Map<string, RunningText>
  /** Characters of the events in it. */
  characters: number
  /** Characters of its pieces, those of calls of tools left out. */
  said: number
}

/** Events of one answer go in, in order; those that are decided come out. */
export class HeldTexts {
  readonly #filters: TextFilters
  readonly #direct: DirectTexts | undefined
  readonly #queues = new Map<number, Queue>()

  constructor (filters: TextFilters, direct: DirectTexts | undefined) {
    this.#filters = filters
    this.#direct = direct
  }

  /** Characters that are held now. */
  get characters (): number {
    let sum = 0
    for (const { characters } of this.#queues.values()) sum += characters
    return sum
  }

  /**
   * Takes an event, and appends to `into` those that are decided with it. @throws GatewayError for a finding
   * that refuses the call
   */
  push (event: ChatEvent, into: ChatEvent[]): void {
    const read = readEvent(event, this.#filters.replace, this.#direct)
    if (read.queue === undefined) {
      into.push(read.event)
      return
    }
    const queue = this.#queueOf(read.queue)
    if (read.ends !== undefined) endTexts(queue, read.ends)
    const size = sizeOf(event)
    queue.characters += size
    queue.events.push({ event: read.event, size, piece: this.#hold(read, queue) })
    release(queue, into)
  }

  /** Appends to `into` all that is held: the answer has ended. @throws GatewayError as `push` does */
  end (into: ChatEvent[]): void {
    for (const queue of this.#queues.values()) {
      endTexts(queue, '')
      release(queue, into)
    }
  }

  #hold ({ piece }: ReadEvent, queue: Queue): HeldPiece | undefined {
    const filter = piece && this.#filters.at(piece.place)
    if (piece === undefined || filter === undefined) return undefined
    let running = queue.texts.get(piece.key)
    if (running === undefined) {
      queue.texts.set(piece.key, (running = new RunningText(piece.place, filter, this.#filters.replace)))
    }
    if (!running.isOfCall) queue.said += piece.text.length
    return { ...piece, running, start: running.add(piece.text) }
  }

  #queueOf (number: number): Queue {
    let queue = this.#queues.get(number)
    if (queue === undefined) {
      this.#queues.set(number, (queue = { events: [], texts: new Map(), characters: 0, said: 0 }))
    }
    return queue
  }
}

/** Returns about how many characters an event keeps in memory. */
function sizeOf (event: ChatEvent): number {
  const overhead = 64
  return overhead + ('json' in event ? event.json.length : 'text' in event ? event.text.length : 0)
}

function endTexts ({ texts }: Queue, prefix: string): void {
  for (const [key, running] of texts) {
    if (!key.startsWith(prefix)) continue
    running.end()
    texts.delete(key)
  }
}

function release (queue: Queue, into: ChatEvent[]): void {
  let released = 0
  for (const { event, size, piece } of queue.events) {
    if (piece === undefined) {
      into.push(event)
    } else {
      if (!isDecided(piece, queue)) break
      if (!piece.running.isOfCall) queue.said -= piece.text.length
      const text = piece.running.take(piece.start, piece.text)
      if (text === piece.text) into.push(event)
      else if (text !== '') into.push(piece.with(text))
    }
    queue.characters -= size
    released++
  }
  if (released > 0) queue.events.splice(0, released)
}

function isDecided ({ key, start, text, running }: HeldPiece, { texts, said }: Queue): boolean {
  if (start + text.length <= running.decided) return true
  if (running.isOfCall || said - running.held <= running.reach) return false
  running.end()
  texts.delete(key)
  return true
}

/** One text of an answer as it arrives. */
class RunningText {
  readonly #place: TextPlace
  readonly #filter: TextFilter
  readonly #replace: ReplaceText
  /** What is not decided, and one character before it. */
  #text = ''
  /** The place of its first character. */
  #start = 0
  #edits: TextEdit[] = []
  /** All characters before this place are decided. */
  decided = 0
  /** Characters of its pieces that are held. */
  held = 0

  constructor (place: TextPlace, filter: TextFilter, replace: ReplaceText) {
    this.#place = place
    this.#filter = filter
    this.#replace = replace
  }

  get isOfCall (): boolean {
    return this.#place.part === 'tool_call'
  }

  get #waitsForEnd (): boolean {
    return this.#place.kind === 'json'
  }

  get reach (): number {
    return this.#filter.reach
  }

  /** @returns the place of the piece in the text */
  add (piece: string): number {
    const start = this.#start + this.#text.length
    this.#text += piece
    this.held += piece.length
    if (!this.#waitsForEnd) this.#decide(this.#text.length - this.#filter.reach)
    return start
  }

  end (): void {
    if (!this.#waitsForEnd) return this.#decide(Infinity)
    const changed = replaceInJson(this.#text, this.#place, this.#replace)
    const end = this.#text.length
    if (changed !== this.#text) this.#edits.push({ start: 0, end, replacement: changed })
    this.decided = end
  }

  /** Returns what stands in place of a piece. What is replaced across several stands in the first of them. */
  take (start: number, piece: string): string {
    this.held -= piece.length
    const end = start + piece.length
    let result = ''
    let from = start
    for (const edit of this.#edits) {
      if (edit.start >= end) break
      if (edit.end <= from) continue
      if (edit.start >= start) result += piece.slice(from - start, edit.start - start) + edit.replacement
      from = Math.min(edit.end, end)
    }
    this.#edits = this.#edits.filter(edit => edit.end > end)
    return result + piece.slice(from - start)
  }

  /** @param until the place in what is left up to which findings may begin */
  #decide (until: number): void {
    let from = this.decided - this.#start
    if (until <= from) return
    for (const { start, end, replacement } of this.#filter.find(this.#text, from, until)) {
      if (this.#place.kind === 'fixed') throw this.#filter.refusal({ start, end, replacement })
      this.#edits.push({ start: start + this.#start, end: end + this.#start, replacement })
      from = end
    }
    from = Math.min(Math.max(from, until), this.#text.length)
    this.decided = from + this.#start
    const kept = Math.max(0, from - 1)
    this.#text = this.#text.slice(kept)
    this.#start += kept
  }
}
