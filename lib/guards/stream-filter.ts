/**
 * Filters a streamed answer, in which a finding may be split across events.
 *
 * A character is decided when no finding can include it any more: when as many characters as the longest
 * finding has (`reach`) have followed it in the same text, or that text has ended. An event is released when
 * all of its characters and all earlier events of its queue are decided. Events without findings are released
 * unchanged.
 *
 * With a filter for `secret`, whose reach is 6:
 *
 *     push 'the sec'               nothing is released
 *     push 'ret is out, ask Ann'   'the [secret]' is released
 *     end                          ' is out, ask Ann' is released
 *
 * Tool arguments are JSON and decided when complete. A text counts as ended when another text of its queue,
 * other than a tool call, has grown by the reach since: reasoning ends where the answer begins.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { everywhere, replaceInJson, replaceInJsonInSlices } from '../json/place-table.ts'
import { EventQueues, type EventQueue, type HeldEvent } from './event-queue.ts'
import { readEvent, readLargeFrame, type ReadEvent } from './event-texts.ts'
import {
  isLargeAnswer, largeLength, replaceInSlices, replaceJsonInSlices, tickLength, type DirectAnswer
} from './replace-in-slices.ts'
import { RunningText } from './running-text.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'
import type { TextPlace } from '../json/place-table.ts'
import type { AnswerInspector } from './answer-inspector.ts'
import { ReportedEnds, type PlaceFilters, type TextFilter } from './text-filter.ts'

/**
 * Filters the texts of one answer: call `push` with its events in order, `decide` when it is due, then `end`,
 * which decides the rest.
 */
export class StreamFilter implements AnswerInspector {
  readonly #filters: PlaceFilters
  readonly #direct: DirectTexts | undefined
  readonly #queues = new EventQueues<FilteredText>()
  /** A large text that has not been searched yet, and the events after it. */
  #unread: readonly ChatEvent[] = []
  /** Large complete arguments that have not been searched yet. */
  #unsearched: FilteredText[] = []

  constructor (filters: PlaceFilters, direct: DirectTexts | undefined) {
    this.#filters = filters
    this.#direct = direct
  }

  get characters (): number {
    return this.#queues.characters
  }

  push (events: readonly ChatEvent[], into: ChatEvent[]): void {
    if (this.#unread.length > 0) {
      this.#unread = [...this.#unread, ...events]
      return
    }
    const large = events.findIndex(isLarge)
    if (large !== -1) this.#unread = events.slice(large)
    try {
      for (const event of large === -1 ? events : events.slice(0, large)) this.#hold(event, into)
    } finally {
      this.#decideTexts(into) // release what precedes a refusal too
    }
  }

  get dueInMs (): number | undefined {
    return this.#unread.length > 0 || this.#unsearched.length > 0 ? 0 : undefined
  }

  /** Searches large texts in slices. */
  async decide (into: ChatEvent[]): Promise<void> {
    await this.#searchArguments()
    const [large, ...others] = this.#unread
    this.#unread = []
    if (large === undefined) {
      this.#decideTexts(into)
      return
    }
    if (isLargeAnswer(large)) into.push(await this.#replaced(large))
    else {
      if (large.type === 'direct-frame' && this.#direct !== undefined) {
        this.#holdRead(await readLargeFrame(large, this.#filters, this.#direct), into)
      } else this.#hold(large, into)
      for (const queue of this.#queues.all()) {
        for (const running of queue.texts) await running.decideInSlices()
      }
    }
    this.push(others, into)
  }

  async #searchArguments (): Promise<void> {
    const unsearched = this.#unsearched
    this.#unsearched = []
    for (const running of unsearched) {
      const { text, place } = running
      running.replaceBy(await replaceInSlices(
        text,
        this.#filters,
        (text, replace) => replaceInJsonInSlices(text, place, replace)
      ))
    }
  }

  async #replaced (answer: DirectAnswer): Promise<DirectAnswer> {
    const places = this.#direct?.answer ?? everywhere(undefined)
    const json = await replaceJsonInSlices(answer.json, this.#filters, places)
    return json === answer.json ? answer : { ...answer, json }
  }

  #hold (event: ChatEvent, into: ChatEvent[]): void {
    this.#holdRead(readEvent(event, this.#filters.replace, this.#direct), into)
  }

  #holdRead (read: ReadEvent, into: ChatEvent[]): void {
    const { queue: queueIndex, ends } = read
    if (queueIndex === undefined) {
      this.#decideTexts(into) // release earlier events if possible
      into.push(read.event)
      return
    }
    const queue = this.#queues.at(queueIndex)
    if (ends !== undefined) this.#end(queue, ends)
    queue.push(read, ({ place }) => {
      const filter = this.#filters.at(place)
      return filter && new FilteredText(place, filter)
    })
  }

  /** Searches each text once for all pieces read since the last time. */
  #decideTexts (into: ChatEvent[]): void {
    for (const queue of this.#queues.all()) {
      for (const running of queue.texts) running.decide()
      this.#release(queue, into)
    }
  }

  async end (into: ChatEvent[]): Promise<void> {
    while (this.dueInMs !== undefined) await this.decide(into)
    for (const queue of this.#queues.all()) this.#end(queue, '')
    await this.#searchArguments()
    for (const queue of this.#queues.all()) this.#release(queue, into)
  }

  #end (queue: EventQueue<FilteredText>, prefix: string): void {
    for (const running of queue.end(prefix)) this.#decideEnd(running)
  }

  #decideEnd (running: FilteredText): void {
    if (!running.waitsForEnd) {
      running.decide()
      return
    }
    const { text, place } = running
    if (text.length > largeLength) this.#unsearched.push(running)
    else running.replaceBy(replaceInJson(text, place, this.#filters.replace))
  }

  #release (queue: EventQueue<FilteredText>, into: ChatEvent[]): void {
    queue.release(into, held => this.#isDecided(held, queue))
  }

  #isDecided ({ pieces }: HeldEvent<FilteredText>, queue: EventQueue<FilteredText>): boolean {
    return pieces.every(({ key, start, text, running }) => {
      if (running === undefined || start + text.length <= running.decided) return true
      const others = queue.visibleCharacters - (running.isVisible ? running.held : 0)
      if (running.isOfCall || others <= running.filter.reach) return false
      queue.endText(key)
      this.#decideEnd(running)
      return start + text.length <= running.decided
    })
  }
}

class FilteredText extends RunningText {
  readonly filter: TextFilter
  readonly #reported = new ReportedEnds()

  constructor (place: TextPlace, filter: TextFilter) {
    super(place)
    this.filter = filter
  }

  /**
   * Filters the characters that later text cannot change.
   *
   * @param most maximum number of characters to filter
   * @returns true if characters are left
   */
  decide (most = Infinity): boolean {
    if (this.waitsForEnd) return false
    const { reach } = this.filter
    const end = this.isEnded ? Infinity : this.text.length - reach
    const from = this.decided - this.start
    const until = Math.min(end, from + most)
    if (until <= from) return false
    this.#reported.partStart = this.start
    const edits = this.filter.find(this.text.slice(0, until + reach), from, until, this.#reported)
    const [first] = edits
    if (first !== undefined && this.place.kind === 'fixed' && this.filter.refusal !== undefined) {
      throw this.filter.refusal(first)
    }
    this.settle(edits, until)
    return until < end
  }

  /** Decides a complete text. */
  replaceBy (changed: string): void {
    const { text } = this
    this.settle(changed === text ? [] : [{ start: 0, end: text.length, replacement: changed }], Infinity)
  }

  async decideInSlices (): Promise<void> {
    while (this.decide(tickLength)) await yieldFairly()
  }
}

/** Returns true for an event that is searched in slices. */
function isLarge (event: ChatEvent): boolean {
  return 'json' in event
    ? event.json.length > largeLength
    : 'text' in event && event.text.length > largeLength
}
