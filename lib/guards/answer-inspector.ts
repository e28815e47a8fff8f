/** The interface that filters and judges of streamed answers share. */

import type { ChatEvent } from '../core/events.ts'

/** Inspects the texts of an answer and holds back its events until they are decided. */
export interface AnswerInspector {
  /** Number of characters held back. */
  readonly characters: number
  /**
   * Takes the events of one read and appends those now decided to `into`.
   *
   * @throws GatewayError for a finding that refuses the call
   */
  readonly push: (events: readonly ChatEvent[], into: ChatEvent[]) => void
  /**
   * Milliseconds after which to call `decide` if no event arrives first; 0 means now, `undefined` means
   * nothing is pending.
   */
  readonly dueInMs: number | undefined
  /**
   * Decides what it can and appends the decided events to `into`. Call no other method until it resolves.
   * Rejects with the errors of `push`.
   */
  readonly decide: (into: ChatEvent[]) => Promise<void>
  /** Ends the answer: decides the rest and appends it to `into`. Rejects with the errors of `push`. */
  readonly end: (into: ChatEvent[]) => Promise<void>
}
