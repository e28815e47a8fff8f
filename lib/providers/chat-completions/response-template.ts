/**
 * The fast path of complete responses.
 *
 * Nearly all responses of a model are the same text around their id, time, text and token counts. Once one has been parsed, what
 * stands around these is remembered; a response that is alike needs no parser but for its counts.
 */

import { LiteralScanner } from '../../json/literal-scanner.ts'
import { objectOf } from '../../json/guards.ts'
import { readObjectText } from '../../json/object-text.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { placeholder } from '../../json/placeholder.ts'
import { copyString } from '../../text/copy-string.ts'
import { TemplateCache } from '../../text/template-cache.ts'
import { memoized } from '../../text/memoized.ts'
import { usageOf } from './usage.ts'
import type { ChatEvent } from '../../core/events.ts'

/** Longer texts around a message are not remembered. */
const maxLength = 4096
/** Longer counts are parsed with all else: these nest within what `parseBounded` allows of all of a response. */
const maxUsageLength = 512

const digitsOnly = /^[1-9]\d{0,14}$/
const scanner = new LiteralScanner()

/** Values that differ from response to response. */
type Changing = 'id' | 'created' | 'content' | 'usage'

interface Place {
  readonly name: Changing
  /** The text between the value before it and this one, with its opening quote if it is a text. */
  readonly before: string
  /** That of the next one. */
  next?: string
}

export class ResponseTemplate {
  readonly #places: readonly Place[]
  readonly #after: string
  readonly #start: ChatEvent
  readonly #end: ChatEvent

  private constructor (places: readonly Place[], after: string, start: ChatEvent, end: ChatEvent) {
    this.#places = places
    this.#after = after
    this.#start = start
    this.#end = end
  }

  /**
   * Returns the template of a response; `undefined` for one that holds more than a text and its counts.
   *
   * @param around the response in ASCII, with the placeholder as its text
   * @param events what it was read into
   */
  static of (around: string, events: readonly ChatEvent[]): ResponseTemplate | undefined {
    const [start, text, end, ...more] = events
    const isPlain = start?.type === 'response-start' && text?.type === 'text-delta' && text.choice === 0 && end?.type === 'choice-end' &&
      more.every(({ type }) => type === 'usage')
    const fields = isPlain && around.length <= maxLength ? readObjectText(around)?.fields : undefined
    // Its counts may stand in another place.
    if (!isPlain || fields === undefined || fields.has('x_groq')) return undefined
    const places: Place[] = []
    let from = 0
    const add = (name: Changing, start: number, end: number): void => {
      const before = copyString(around.slice(from, start))
      const last = places.at(-1)
      if (last !== undefined) last.next = before
      places.push({ name, before })
      from = end
    }
    const content = around.indexOf(placeholder)
    for (const [name, range] of fields) {
      const value = around.slice(range.start, range.end)
      if (range.start < content && content < range.end) add('content', content, content + placeholder.length)
      else if (name === 'id' && value.startsWith('"')) add(name, range.start + 1, range.end - 1)
      else if (name === 'created' && digitsOnly.test(value)) add(name, range.start, range.end)
      else if (name === 'usage' && value.startsWith('{')) add(name, range.start, range.end)
    }
    return new ResponseTemplate(places, copyString(around.slice(from)), start, end)
  }

  /**
   * Returns the events of a response that fits, else `undefined`: then it has to be parsed.
   *
   * @param json UTF-8, each byte a character: nothing that is read beside its text has others than ASCII
   */
  read (json: string): ChatEvent[] | undefined {
    const last = json.length - this.#after.length
    if (json.slice(last) !== this.#after) return undefined
    const events = [this.#start]
    let usage: ChatEvent | undefined
    let at = 0
    for (const { name, before, next } of this.#places) {
      const start = at + before.length
      if (json.slice(at, start) !== before) return undefined
      if (name === 'usage') {
        at = next === undefined ? last : json.indexOf(next, start)
        // What is an object by itself ends where it does, however this place was found.
        const counts = at < start ? undefined : countsIn(json.slice(start, at))
        if (counts === undefined) return undefined
        const read = usageOf(counts)
        if (read !== undefined) usage = { type: 'usage', usage: read }
      } else if (name === 'created') {
        at = endOfDigits(json, start)
        if (!digitsOnly.test(json.slice(start, at))) return undefined
      } else {
        const { end } = scanner.scan(json, start)
        if (end <= start) return undefined
        at = end
        if (name === 'content') {
          events.push({ type: 'text-run', choice: 0, literals: [json.slice(start, end)], isAscii: scanner.isAscii, characters: scanner.characters })
        }
      }
    }
    if (at !== last) return undefined
    events.push(this.#end)
    if (usage !== undefined) events.push(usage)
    return events
  }
}

/** Keeps the template of the responses of one model. */
export class ResponseTemplateCache {
  readonly #template = new TemplateCache<ResponseTemplate>()

  read (json: string): ChatEvent[] | undefined {
    return this.#template.use(template => template.read(json))
  }

  /** Notes a response that did not fit. */
  noteMiss (around: string, events: readonly ChatEvent[]): void {
    this.#template.noteMiss(() => ResponseTemplate.of(around, events))
  }
}

/** Returns what is known of the responses of a model. */
export const responsesOf = memoized(() => new ResponseTemplateCache())

function countsIn (text: string): Record<string, unknown> | undefined {
  if (text.length > maxUsageLength) return undefined
  try {
    return objectOf(parseBounded(text))
  } catch {
    return undefined
  }
}

function endOfDigits (text: string, start: number): number {
  let end = start
  while (isDigit(text.charCodeAt(end))) end++
  return end
}

function isDigit (code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
