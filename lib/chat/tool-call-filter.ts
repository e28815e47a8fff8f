/**
 * Selects the events of a turn that a caller gets to see while tools run on the server.
 *
 * Text goes through as it comes. Calls of server tools are withheld, so that no client tries to
 * run them twice; the calls that are left are numbered densely. Where an answer is one message, thinking
 * blocks are withheld as well: only those of the turn that ends it belong to that message.
 */

import type { ChatEvent } from '../core/events.ts'

type CallEvent = Extract<ChatEvent, { readonly call: number }>
type ChoiceEnd = Extract<ChatEvent, { readonly type: 'choice-end' }>

export class ToolCallFilter {
  readonly #hides: (name: string) => boolean
  readonly #isFirst: boolean
  readonly #showsTurns: boolean
  #separator: string
  #lastText: string
  readonly #numbers = new Map<string, number>()
  readonly #next = new Map<number, number>()
  readonly #withheldCalls: CallEvent[] = []
  readonly #withheldBlocks: ChatEvent[] = []
  readonly #ends: ChoiceEnd[] = []
  #callsShown = 0

  /**
   * @param hides says of the name of a function whether it is run here
   * @param before the text shown last in the turn before; `undefined` in the first turn
   * @param showsTurns true where callers see the turns of an answer, each with its thinking; default: false
   */
  constructor (hides: (name: string) => boolean, before: string | undefined, showsTurns = false) {
    this.#hides = hides
    this.#showsTurns = showsTurns
    this.#isFirst = before === undefined
    this.#lastText = before ?? ''
    // Two turns are two pieces of writing.
    this.#separator = before === undefined || before === '' || /\s$/.test(before) ? '' : '\n\n'
  }

  /** Returns the end of the text shown so far, for the next turn. */
  get lastText (): string {
    return this.#lastText
  }

  get callsShown (): number {
    return this.#callsShown
  }

  /** Returns those of these events that may go out now; `choice-end` and `usage` never do. */
  read (events: readonly ChatEvent[]): ChatEvent[] {
    const shown: ChatEvent[] = []
    for (const event of events) {
      switch (event.type) {
        case 'response-start':
          if (this.#isFirst) shown.push(event)
          break
        case 'text-delta':
          if (this.#separator !== '' && event.text !== '') {
            shown.push({ type: 'text-delta', choice: event.choice, text: this.#separator })
            this.#separator = ''
          }
          if (event.text !== '') this.#lastText = event.text
          shown.push(event)
          break
        case 'thinking-block':
          (this.#showsTurns ? shown : this.#withheldBlocks).push(event)
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
        case 'annotation-delta':
        case 'extra':
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

  /** Returns the thinking of the turn, once it is known to be the last. */
  withheldThinking (): readonly ChatEvent[] {
    return this.#withheldBlocks
  }

  /** Returns how the choices ended; one that shows calls has ended in them, whatever its provider says. */
  choiceEnds (): ChoiceEnd[] {
    return this.#ends.map(end =>
      end.reason === 'stop' && this.#next.has(end.choice) ? { ...end, reason: 'tool_calls' } : end
    )
  }

  /** Returns the withheld calls, to be shown after all, since they do not run here. */
  withheldCalls (): ChatEvent[] {
    for (const event of this.#withheldCalls) this.#numbers.delete(keyOf(event))
    return this.#withheldCalls.map(event => ({
      ...event,
      call: this.#numbers.get(keyOf(event)) ?? this.#number(event)
    }))
  }

  #readCall (event: CallEvent, shown: ChatEvent[]): void {
    if (
      event.type === 'tool-call-start' &&
      event.choice === 0 &&
      event.kind === 'function' &&
      this.#hides(event.name)
    ) {
      this.#numbers.set(keyOf(event), withheld)
    }
    const call = this.#numbers.get(keyOf(event)) ?? this.#number(event)
    if (call === withheld) this.#withheldCalls.push(event)
    else shown.push({ ...event, call })
  }

  /** Returns the next free number of the event's choice, for all events of its call. */
  #number (event: CallEvent): number {
    const number = this.#next.get(event.choice) ?? 0
    this.#next.set(event.choice, number + 1)
    this.#numbers.set(keyOf(event), number)
    this.#callsShown++
    return number
  }
}

/** In place of a number. */
const withheld = -1

function keyOf ({ choice, call }: CallEvent): string {
  return `${choice}/${call}`
}
