/**
 * Selects the events of a turn that the caller sees while tools run on the server.
 *
 * Text passes through. Calls of server tools are withheld, so that clients do not run them too; the remaining
 * calls are renumbered densely. If the answer is one message, thinking blocks are withheld too: only those of
 * the final turn belong to it.
 */

import type { ChatEvent } from '../core/events.ts'

type ToolCallEvent = Extract<ChatEvent, { readonly callIndex: number }>
type ChoiceEnd = Extract<ChatEvent, { readonly type: 'choice-end' }>

export class ToolCallFilter {
  readonly #hides: (name: string) => boolean
  readonly #isFirst: boolean
  readonly #showsTurns: boolean
  #separator: string
  #lastText: string
  readonly #numbers = new Map<string, number>()
  readonly #next = new Map<number, number>()
  readonly #withheldCalls: ToolCallEvent[] = []
  readonly #withheldBlocks: ChatEvent[] = []
  readonly #ends: ChoiceEnd[] = []
  #callsShown = 0

  /**
   * @param hides returns true for the name of a function that runs here
   * @param before the text shown last in the previous turn; `undefined` in the first turn
   * @param showsTurns true if callers see each turn with its thinking. Default: false
   */
  constructor (hides: (name: string) => boolean, before: string | undefined, showsTurns = false) {
    this.#hides = hides
    this.#showsTurns = showsTurns
    this.#isFirst = before === undefined
    this.#lastText = before ?? ''
    // Separate the texts of two turns.
    this.#separator = before === undefined || before === '' || /\s$/.test(before) ? '' : '\n\n'
  }

  /** Returns the end of the text shown so far, for the next turn. */
  get lastText (): string {
    return this.#lastText
  }

  get callsShown (): number {
    return this.#callsShown
  }

  /** Returns the events that can be sent now; never `choice-end` or `usage`. */
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

  /** Returns the thinking of the turn, once the turn is known to be final. */
  withheldThinking (): readonly ChatEvent[] {
    return this.#withheldBlocks
  }

  /**
   * Returns the ends of choices; a choice with visible calls ends with `tool_calls`, whatever the provider
   * says.
   */
  choiceEnds (): ChoiceEnd[] {
    return this.#ends.map(end =>
      end.reason === 'stop' && this.#next.has(end.choice) ? { ...end, reason: 'tool_calls' } : end
    )
  }

  /** Returns the withheld calls if they do not run here after all. */
  withheldCalls (): ChatEvent[] {
    for (const event of this.#withheldCalls) this.#numbers.delete(keyOf(event))
    return this.#withheldCalls.map(event => ({
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
