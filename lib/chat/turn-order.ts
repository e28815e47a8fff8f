/**
 * Keeps the order of what a model wrote in one turn: Anthropic and OpenAI want their thinking back in its
 * place. A message holds thinking, texts and calls in separate lists. If thinking came after a text or a
 * call, its field `turn_order` lists them, as in `['thinking', 'text', 'thinking', 'call']`, and each text is
 * a part of its content. Only the adapters of these providers read the field, and none sends it.
 *
 * The field `text_phases` has the phase of each text of a message, which OpenAI wants back as well.
 */

import { isList, property } from '../json/type-guards.ts'
import type { AssistantMessage, AssistantPart } from '../../schemas/messages.ts'

const kinds = ['thinking', 'text', 'call'] as const

type TurnPart = typeof kinds[number]

/** Records the order in which the parts of a turn come. */
export class TurnOrder {
  readonly #parts: TurnPart[] = []
  #isThinkingFirst = true

  add (part: TurnPart, count = 1): void {
    if (part === 'thinking' && count > 0 && (this.last ?? part) !== part) this.#isThinkingFirst = false
    for (let added = 0; added < count; added++) this.#parts.push(part)
  }

  get last (): TurnPart | undefined {
    return this.#parts.at(-1)
  }

  /** Returns the field of the message: none if all thinking stands at the beginning. */
  get field (): { readonly turn_order?: readonly TurnPart[] } {
    return this.#isThinkingFirst ? {} : { turn_order: this.#parts }
  }
}

/** Returns true for a message with thinking after a text or a call. */
export function hasTurnOrder (message: object): boolean {
  return isList(property(message, 'turn_order'))
}

/** Records the phases of the texts of a turn, in their order. */
export class TextPhases {
  readonly #phases: Array<string | null> = []

  add (phase: string | null = null, count = 1): void {
    for (let added = 0; added < count; added++) this.#phases.push(phase)
  }

  get last (): string | null | undefined {
    return this.#phases.at(-1)
  }

  /** Returns the field of the message: none if no text has a phase. */
  get field (): { readonly text_phases?: ReadonlyArray<string | null> } {
    return this.#phases.every(phase => phase === null) ? {} : { text_phases: this.#phases }
  }
}

/** Returns the phases of the texts of a message, `null` for a text without one. Empty if none has one. */
export function textPhases (message: object): ReadonlyArray<string | null> {
  const phases = property(message, 'text_phases')
  return isList(phases) ? phases.map(phase => typeof phase === 'string' ? phase : null) : []
}

/** Returns the content of an assistant message as parts. */
export function answerParts (content: AssistantMessage['content']): readonly AssistantPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? []
}

/**
 * Puts what a provider gets for the parts of a turn in their order. Where the order names no place, thinking
 * comes first, and texts and calls come last. Drops thinking at the end, which providers refuse.
 *
 * @param printed what is sent for each thinking block, text and call of the message
 */
export function inTurnOrder<T> (
  message: AssistantMessage, printed: Readonly<Record<TurnPart, ReadonlyArray<readonly T[]>>>
): T[] {
  const given = property(message, 'turn_order')
  const order = (isList(given) ? given : []).flatMap(part => kinds.find(kind => kind === part) ?? [])
  const unnamed = (part: TurnPart): TurnPart[] =>
    printed[part].slice(order.filter(named => named === part).length).map(() => part)
  const next = { thinking: 0, text: 0, call: 0 }
  const all = [...unnamed('thinking'), ...order, ...unnamed('text'), ...unnamed('call')]
    .map(part => ({ part, sent: printed[part][next[part]++] ?? [] }))
    .filter(({ sent }) => sent.length > 0)
  return all.slice(0, all.findLastIndex(({ part }) => part !== 'thinking') + 1).flatMap(({ sent }) => sent)
}
