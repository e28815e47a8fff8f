/** The fast path of complete answers that their callers get as they came: one that is like an earlier one of its model is not parsed. */

import { JsonTemplate, printPart, type JsonPart } from '../json/json-template.ts'
import { readObjectText } from '../json/object-text.ts'
import { TemplateCache } from '../text/template-cache.ts'
import { memoized } from '../text/memoized.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'

/** Longer ones are parsed in turns of the event loop. */
const maxBytes = 256 * 1024

interface AnswerTemplate {
  readonly template: JsonTemplate
  readonly start: ChatEvent
  readonly end: ChatEvent
  /** Its counts, as JSON. */
  readonly usage: JsonPart | undefined
}

/** Reads answers of one model of a provider, in one dialect, by the template of an earlier one. */
export class TemplateReader {
  readonly #template = new TemplateCache<AnswerTemplate>()
  readonly #usageOf: (value: unknown) => Usage | undefined

  /** @param usageOf reads the field `usage` of an answer */
  constructor (usageOf: (value: unknown) => Usage | undefined) {
    this.#usageOf = usageOf
  }

  /** Returns the events of an answer; `undefined` for one that has to be parsed. */
  read (bytes: Buffer): ChatEvent[] | undefined {
    return bytes.length > maxBytes ? undefined : this.#template.use(known => this.#events(known, bytes.toString()))
  }

  /** Notes an answer that had to be parsed. @param events what it was read into */
  noteMiss (json: string, events: readonly ChatEvent[]): void {
    this.#template.noteMiss(() => answerTemplateOf(json, events))
  }

  #events ({ template, start, end, usage }: AnswerTemplate, json: string): ChatEvent[] | undefined {
    const values = template.values(json)
    if (values === undefined) return undefined
    const events = [start, { type: 'direct-answer', json, characters: json.length, alike: { template, values } } as const, end]
    const counts = usage === undefined ? undefined : this.#usageOf(JSON.parse(printPart(usage, values)))
    if (counts !== undefined) events.push({ type: 'usage', usage: counts })
    return events
  }
}

/** Returns the function that gives the reader of a model, by its id. */
export function templateReaders (usageOf: (value: unknown) => Usage | undefined): (modelId: string) => TemplateReader {
  return memoized(() => new TemplateReader(usageOf))
}

/** Returns `undefined` for an answer that calls tools. */
function answerTemplateOf (json: string, events: readonly ChatEvent[]): AnswerTemplate | undefined {
  const [start, answer, end, ...more] = events
  if (start?.type !== 'response-start' || answer?.type !== 'direct-answer' || end?.type !== 'choice-end' || more.some(({ type }) => type !== 'usage')) return undefined
  const fields = readObjectText(json)?.fields
  const template = fields && JsonTemplate.of(json)
  if (template === undefined) return undefined
  const { start: from = 0, end: to = 0 } = fields?.get('usage') ?? {}
  const usage = json.slice(from, to)
  // Among counts, texts would be looked at.
  if (/"(?:id|text)"/.test(usage)) return undefined
  return { template, start, end, usage: usage.startsWith('{') ? template.part(from, to) : undefined }
}
