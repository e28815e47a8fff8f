/**
 * Selects the events of a turn that the caller sees while tools run on the server.
 *
 * Text passes through. Calls of server tools are withheld, so that clients do not run them too; the remaining
 * calls are renumbered densely. If the answer is one message, citations are moved to where its text has the
 * cited words, and thinking blocks are withheld: only those of the final turn belong to it.
 */

import { isObject } from '../json/type-guards.ts'
import type { ChatEvent } from '../core/events.ts'

type ToolCallEvent = Extract<ChatEvent, { readonly callIndex: number }>
type ExtraEvent = Extract<ChatEvent, { readonly type: 'extra' }>
type AnnotationEvent = Extract<ChatEvent, { readonly type: 'annotation-delta' }>
type ChoiceEnd = Extract<ChatEvent, { readonly type: 'choice-end' }>

/** The text of the first choice that earlier turns have shown. */
export interface ShownText {
  /** The last piece of it; empty if there is no text. */
  readonly end: string
  readonly length: number
}

export class ToolCallFilter {
  readonly #hides: (name: string) => boolean
  readonly #isFirst: boolean
  readonly #showsTurns: boolean
  #separator: string
  #end: string
  #length: number
  /** Where the text of this turn begins within the message. */
  readonly #offset: number
  readonly #numbers = new Map<string, number>()
  readonly #next = new Map<number, number>()
  readonly #withheldCalls: ToolCallEvent[] = []
  readonly #withheldBlocks: ChatEvent[] = []
  readonly #ends: ChoiceEnd[] = []
  #callsShown = 0

  /**
   * @param hides returns true for the name of a function that runs here
   * @param before what earlier turns have shown; `undefined` in the first turn
   * @param showsTurns true if callers see each turn as a message with its thinking. Default: false
   */
  constructor (hides: (name: string) => boolean, before: ShownText | undefined, showsTurns = false) {
    this.#hides = hides
    this.#showsTurns = showsTurns
    this.#isFirst = before === undefined
    this.#end = before?.end ?? ''
    this.#length = before?.length ?? 0
    // Separate the texts of two turns of a message.
    this.#separator = showsTurns || this.#end === '' || /\s$/.test(this.#end) ? '' : '\n\n'
    this.#offset = showsTurns ? 0 : this.#length + this.#separator.length
  }

  /** Returns what the turns so far have shown, for the next one. */
  get shown (): ShownText {
    return { end: this.#end, length: this.#length }
  }

  get callsShown (): number {
    return this.#callsShown
  }

  /** Returns the events that can be sent now; never `choice-end` or `usage`. */
  read (events: readonly ChatEvent[]): ChatEvent[] {
    const shown: ChatEvent[] = []
    for (const event of events) {
      switch (event.type) {
        case 'answer-start':
          if (this.#isFirst) shown.push(event)
          break
        case 'text-delta':
          if (this.#separator !== '' && event.text !== '') {
            shown.push({ type: 'text-delta', choice: event.choice, text: this.#separator })
            this.#length += this.#separator.length
            this.#separator = ''
          }
          if (event.text !== '') this.#end = event.text
          if (event.choice === 0) this.#length += event.text.length
          shown.push(event)
          break
        case 'annotation-delta':
          shown.push(this.#offset === 0 ? event : moved(event, this.#offset))
          break
        case 'thinking-block':
          this.#thinking(shown).push(event)
          break
        case 'extra':
          this.#readExtra(event, shown)
          break
        case 'tool-call-start':
        case 'tool-call-delta':
        case 'tool-call-end':
          this.#readCall(event, shown)
          break
        case 'choice-end':
          this.#ends.push(event)
          break
        case 'usage':
          break
        case 'reasoning-delta':
        case 'refusal-delta':
        case 'audio-delta':
        case 'direct-frame':
        case 'direct-answer':
        case 'tool-result':
        case 'tools-listed':
        case 'tool-approval-needed':
        case 'tool-servers-failed':
          shown.push(event)
          break
        default:
          event satisfies never
      }
    }
    return shown
  }

  #readExtra (event: ExtraEvent, shown: ChatEvent[]): void {
    const { reasoning_details: details, ...others } = event.fields
    if (event.scope !== 'message' || details === undefined) {
      shown.push(event)
      return
    }
    this.#thinking(shown).push({ ...event, fields: { reasoning_details: details } })
    if (Object.keys(others).length > 0) shown.push({ ...event, fields: others })
  }

  /** Returns the list that thinking goes to: what is shown, or what is withheld. */
  #thinking (shown: ChatEvent[]): ChatEvent[] {
    return this.#showsTurns ? shown : this.#withheldBlocks
  }

  /** Returns the thinking of the turn, once the turn is known to be final. */
  withheldThinking (): readonly ChatEvent[] {
    return this.#withheldBlocks
  }

  /**
   * Returns the ends of choices; a choice with visible calls ends with `tool_calls`, whatever the provider
   * says, and one whose calls are all withheld does not.
   */
  choiceEnds (): ChoiceEnd[] {
    return this.#ends.map(end => {
      const hasCalls = this.#next.has(end.choice)
      if (end.reason === 'stop' && hasCalls) return { ...end, reason: 'tool_calls' }
      return end.reason === 'tool_calls' && !hasCalls && this.#withheldCalls.length > 0
        ? { ...end, reason: 'stop' }
        : end
    })
  }

  /** Returns the withheld calls with these ids, which do not run here after all. */
  withheldCalls (ids: ReadonlySet<string>): ChatEvent[] {
    const pending = new Set(this.#withheldCalls.flatMap(event =>
      event.type === 'tool-call-start' && ids.has(event.id) ? [keyOf(event)] : []
    ))
    for (const key of pending) this.#numbers.delete(key)
    return this.#withheldCalls.filter(event => pending.has(keyOf(event))).map(event => ({
      ...event,
      callIndex: this.#numbers.get(keyOf(event)) ?? this.#number(event)
    }))
  }

  #readCall (event: ToolCallEvent, shown: ChatEvent[]): void {
    if (
      event.type === 'tool-call-start' &&
      event.choice === 0 &&
      event.kind === 'function' &&
      this.#hides(event.name)
    ) {
      this.#numbers.set(keyOf(event), withheld)
    }
    const callIndex = this.#numbers.get(keyOf(event)) ?? this.#number(event)
    if (callIndex === withheld) this.#withheldCalls.push(event)
    else shown.push({ ...event, callIndex })
  }

  /** Returns the index of the event's call, assigning the next free one of its choice. */
  #number (event: ToolCallEvent): number {
    const number = this.#next.get(event.choice) ?? 0
    this.#next.set(event.choice, number + 1)
    this.#numbers.set(keyOf(event), number)
    this.#callsShown++
    return number
  }
}

/** Marks a withheld call. */
const withheld = -1

function keyOf ({ choice, callIndex }: ToolCallEvent): string {
  return `${choice}/${callIndex}`
}

function moved (event: AnnotationEvent, offset: number): ChatEvent {
  return { ...event, annotations: event.annotations.map(annotation => movedBy(offset, annotation)) }
}

/** Moves the positions of a citation, flat or nested as in chat completions; anything else is unchanged. */
function movedBy (offset: number, annotation: unknown): unknown {
  if (!isObject(annotation)) return annotation
  const moved = { ...annotation }
  for (const name of ['start_index', 'end_index']) {
    const index = moved[name]
    if (typeof index === 'number') moved[name] = index + offset
  }
  const { url_citation: nested } = annotation
  return isObject(nested) ? { ...moved, url_citation: movedBy(offset, nested) } : moved
}
