/** Counts and lists the parts of a conversation from earlier answers, for tests that send answers back. */

import { nonEmptyText, objectsOf, property } from '../../lib/json/type-guards.ts'
import type { Message } from '../../schemas/messages.ts'

export interface HistoryFacts {
  /** Characters written by the model. */
  readonly characters: number
  /** Its function calls: id, name and arguments, in the order of their ids. */
  readonly calls: ReadonlyArray<readonly unknown[]>
  readonly thinking: readonly unknown[]
  readonly images: number
}

export function historyFacts (messages: readonly Message[]): HistoryFacts {
  const answers = messages.filter(({ role }) => role === 'assistant')
  const parts = messages.flatMap(({ role, content }) => partsOf(content).map(part => ({ role, part })))
  return {
    characters: parts
      .filter(({ role }) => role === 'assistant')
      .map(
        ({ part }) => nonEmptyText(property(part, 'text')) ?? nonEmptyText(property(part, 'refusal')) ?? ''
      )
      .join('').length,
    calls: byId(
      answers
        .flatMap(answer => objectsOf(property(answer, 'tool_calls')))
        .map(({ id, function: called }) => [id, property(called, 'name'), property(called, 'arguments')])
    ),
    thinking: answers.flatMap(answer => objectsOf(property(answer, 'thinking_blocks'))),
    images: parts.filter(({ part }) => property(part, 'type') === 'image_url').length
  }
}

export function byId (calls: ReadonlyArray<readonly unknown[]>): ReadonlyArray<readonly unknown[]> {
  return calls.toSorted(([one], [other]) => String(one).localeCompare(String(other)))
}

function partsOf (content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [{ text: content }] : objectsOf(content)
}
