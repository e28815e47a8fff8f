/**
 * Sends a streamed answer to a judge, one window of text at a time. After the verdict the window is released,
 * except for the overlap at its end, which the judge sees again with the text that follows.
 *
 * With windows of 6 characters and an overlap of 4, the judge sees of `abcdefghijklmnop`
 *
 *     'abcdefghij'   then 'abcdef' is released, and 'ghij' is held
 *     'ghijklmnop'   then 'ghijkl' is released, and so on; at the end, all of the rest
 *
 * A judge returns the corrected window; only the part that differs is replaced. Tool arguments are judged
 * when complete. A text counts as ended when another text of its queue, other than a tool call, has grown by
 * the overlap since.
 */

import { everywhere, replaceInJsonInSlices, type ReplaceText } from '../json/place-table.ts'
import { parseText } from '../json/parse-text.ts'
import { spliceInSlices } from '../json/splice-strings.ts'
import { cutAt } from '../text/split-text.ts'
import { EventQueues, type HeldEvent } from './event-queue.ts'
import { readEvent } from './event-texts.ts'
import { GatheredTexts } from './gathered-texts.ts'
import { isLargeAnswer, type DirectAnswer } from './replace-in-slices.ts'
import { RunningText } from './running-text.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'
import type { AnswerInspector } from './answer-inspector.ts'
import type { TextEdit } from './text-filter.ts'
import type { CallJudge } from './text-judge.ts'

/** Texts to judge, and how to apply the verdict. */
interface CollectedTexts {
  readonly found: GatheredTexts
  /** @param replace returns the judged version of each text; absent if none changed */
  readonly apply: (replace: ReplaceText | undefined) => void | Promise<void>
}

export class StreamJudge implements AnswerInspector {
  readonly #judge: CallJudge
  readonly #direct: DirectTexts | undefined
  readonly #overlap: number
  readonly #queues = new EventQueues<JudgedText>()
  /** Events whose complete texts are not judged yet, each with a function that collects the texts. */
  readonly #unread = new Map<HeldEvent<JudgedText>, () => CollectedTexts | Promise<CollectedTexts>>()
  /** Ended texts whose rest is not judged yet. */
  readonly #ended = new Set<JudgedText>()
  /** Events without texts, which must not overtake held ones. */
  #afterAll: ChatEvent[] = []
  /** `performance.now()` when the oldest unjudged text arrived. */
  #sinceMs: number | undefined

  constructor (judge: CallJudge, direct: DirectTexts | undefined) {
    this.#judge = judge
    this.#direct = direct
    this.#overlap = judge.window?.overlap ?? 0
  }

  get characters (): number {
    return this.#queues.characters
  }

  get dueInMs (): number | undefined {
    const { window } = this.#judge
    if (window === undefined) return undefined
    const full = window.characters + window.overlap
    const isFull = this.#running().some(
      text => text.undecided >= full && text.isDecidable(this.#overlap)
    )
    if (isFull || this.#ended.size > 0) return 0
    if (this.#sinceMs === undefined) return undefined
    return Math.max(0, this.#sinceMs + window.maxWaitMs - performance.now())
  }

  push (events: readonly ChatEvent[], into: ChatEvent[]): void {
    for (const event of events) this.#hold(event, into)
    this.#release(into)
  }

  #hold (event: ChatEvent, into: ChatEvent[]): void {
    if (isLargeAnswer(event)) {
      const held = this.#queues.at(0).push({ event }, () => undefined)
      this.#unread.set(held, () => this.#collectLarge(held, event))
      this.#sinceMs ??= performance.now()
      return
    }
    const found = new GatheredTexts(this.#judge)
    const read = readEvent(event, found.collect, this.#direct)
    const { queue: index, ends } = read
    if (index === undefined) {
      if (this.characters === 0) into.push(read.event)
      else this.#afterAll.push(read.event)
      return
    }
    const queue = this.#queues.at(index)
    if (ends !== undefined) this.#end(queue.end(ends))
    const held = queue.push(read, ({ place }) =>
      this.#judge.pointOf(place) === undefined ? undefined : new JudgedText(place))
    const texts = held.pieces.flatMap(({ running }) => running ?? [])
    for (const text of texts) text.visibleAtArrival = queue.visibleCharacters
    if (found.seen.length > 0) this.#unread.set(held, () => this.#collectEvent(held, found))
    if (found.seen.length > 0 || texts.some(text => text.isDecidable(this.#overlap))) {
      this.#sinceMs ??= performance.now()
    }
  }

  async decide (into: ChatEvent[]): Promise<void> {
    this.#sinceMs = undefined
    this.#endPaused()
    const collected: CollectedTexts[] = []
    for (const text of [...this.#running(), ...this.#ended]) {
      if (text.isDecidable(this.#overlap)) collected.push(await this.#collectText(text))
    }
    for (const collect of this.#unread.values()) collected.push(await collect())
    const seen = collected.flatMap(({ found }) => found.seen)
    const judged = seen.length === 0 ? [] : await this.#judge.inspect(seen)
    let from = 0
    for (const { found, apply } of collected) {
      await apply(found.putBack(judged.slice(from, from + found.seen.length)))
      from += found.seen.length
    }
    this.#release(into)
  }

  async end (into: ChatEvent[]): Promise<void> {
    for (const queue of this.#queues.all()) this.#end(queue.end(''))
    await this.decide(into)
  }

  #running (): JudgedText[] {
    return [...this.#queues.all()].flatMap(({ texts }) => [...texts])
  }

  #end (texts: readonly JudgedText[]): void {
    for (const text of texts) if (text.undecided > 0) this.#ended.add(text)
  }

  #endPaused (): void {
    for (const queue of this.#queues.all()) {
      this.#end(queue.endTexts(
        ({ isOfCall, visibleAtArrival }) =>
          !isOfCall && queue.visibleCharacters - visibleAtArrival >= Math.max(this.#overlap, 1)
      ))
    }
  }

  async #collectText (running: JudgedText): Promise<CollectedTexts> {
    const found = new GatheredTexts(this.#judge)
    const { window, place } = running
    const replaced = async (replace: ReplaceText): Promise<string> =>
      running.waitsForEnd ? await replaceInJsonInSlices(window, place, replace) : replace(window, place)
    const seen = await replaced(found.collect) // texts without unread parts
    return {
      found,
      apply: async replace => {
        running.settleBy(replace === undefined ? seen : await replaced(replace), this.#overlap)
        this.#ended.delete(running)
      }
    }
  }

  #collectEvent (held: HeldEvent<JudgedText>, found: GatheredTexts): CollectedTexts {
    const { event } = held
    return {
      found,
      apply: replace => {
        this.#unread.delete(held)
        if (replace === undefined) return
        const read = readEvent(event, replace, this.#direct)
        held.event = read.event
        if (read.pieces !== undefined) held.replacedBy = read.pieces.replacedBy
      }
    }
  }

  /** Visits the texts of a large answer in slices. */
  async #collectLarge (held: HeldEvent<JudgedText>, answer: DirectAnswer): Promise<CollectedTexts> {
    const found = new GatheredTexts(this.#judge)
    const places = this.#direct?.answer ?? everywhere(undefined)
    const value = await parseText(answer.json)
    await places.replaceInSlices(value, found.collect)
    return {
      found,
      apply: async (replace = text => text) => {
        const replaced = await places.replaceInSlices(value, replace)
        held.event = { ...answer, json: await spliceInSlices(answer.json, value, replaced) }
        this.#unread.delete(held)
      }
    }
  }

  #release (into: ChatEvent[]): void {
    for (const queue of this.#queues.all()) {
      queue.release(into, held => !this.#unread.has(held) && isDecided(held))
    }
    if (this.#afterAll.length === 0 || this.characters > 0) return
    into.push(...this.#afterAll)
    this.#afterAll = []
  }
}

function isDecided ({ pieces }: HeldEvent<JudgedText>): boolean {
  return pieces.every(({ start, text, running }) =>
    running === undefined || start + text.length <= running.decided)
}

class JudgedText extends RunningText {
  /** `visibleCharacters` of its queue (characters still held) when the last piece arrived. */
  visibleAtArrival = 0
  #lengthWhenJudged = 0

  /** The undecided text. */
  get window (): string {
    return this.text.slice(this.decided - this.start)
  }

  get undecided (): number {
    return this.#length - this.decided
  }

  get #length (): number {
    return this.start + this.text.length
  }

  /** Returns true if a verdict would decide something. */
  isDecidable (overlap: number): boolean {
    if (this.isEnded) return this.undecided > 0
    return !this.waitsForEnd && this.undecided > overlap && this.#length > this.#lengthWhenJudged
  }

  /** @param judged the window as returned by the judge */
  settleBy (judged: string, overlap: number): void {
    const { window } = this
    this.#lengthWhenJudged = this.#length
    const until = this.isEnded ? Infinity : cutAt(this.text, this.text.length - overlap)
    const edit = difference(window, judged, this.decided - this.start)
    if (edit === undefined) this.settle([], until)
    else if (edit.start < until) this.settle([edit], until)
    // The end is judged again: a finding may begin before the part that was changed, such as digits of a
    // number that were kept.
    else this.settle([], cutAt(this.text, Math.min(until, edit.start - overlap)))
  }
}

/** Characters compared at a time: comparing millions one by one takes a tenth of a second. */
const blockLength = 4096

/** Returns the range from the first to the last difference. @param at the position of the text */
function difference (text: string, other: string, at: number): TextEdit | undefined {
  if (text === other) return undefined
  const most = Math.min(text.length, other.length)
  let start = 0
  const isSame = (at: number, otherAt: number): boolean =>
    text.startsWith(other.slice(otherAt, otherAt + blockLength), at)
  while (start + blockLength <= most && isSame(start, start)) start += blockLength
  while (start < most && text[start] === other[start]) start++
  let same = 0
  while (
    same + blockLength <= most - start &&
    isSame(text.length - same - blockLength, other.length - same - blockLength)
  ) same += blockLength
  while (same < most - start && text.at(-1 - same) === other.at(-1 - same)) same++
  // An insertion also replaces one character, so that it belongs to a piece.
  if (start + same === text.length) {
    if (start > 0) start--
    else same--
  }
  return {
    start: at + start,
    end: at + text.length - same,
    replacement: other.slice(start, other.length - same)
  }
}
