/** Decides when a tool loop ends although the model calls tools. */

import { defaultTurns } from '../limits/estimate.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ToolSettings } from '../core/settings.ts'
import type { TurnToolCall } from '../chat/turn.ts'

export type ToolLimits = Pick<ToolSettings, 'loopMs' | 'loopTokens' | 'callsPerTurn' | 'maxIdenticalCalls'>

/** The reason why the loop ended although the model had called server tools. */
export type StopReason = 'max_turns' | 'deadline' | 'tokens' | 'budget' | 'calls_per_turn' | 'repeated_call'

/** The state of the loop after a turn. */
export interface LoopState {
  /** From 1. */
  readonly turn: number
  readonly outOfTime: boolean
  /** Tokens of all turns so far. */
  readonly tokens: number
  /** Returns whether the budget pays for another turn. */
  readonly canAffordTurn: () => boolean
}

export class LoopLimits {
  readonly #limits: ToolLimits
  readonly #maxTurns: number
  #callsLeft: number
  /** The number of times each call was made, by name and arguments. */
  readonly #made = new Map<string, number>()

  constructor (limits: ToolLimits, request: Pick<ChatInput, 'max_turns' | 'max_tool_calls'>) {
    this.#limits = limits
    this.#maxTurns = request.max_turns ?? defaultTurns
    this.#callsLeft = request.max_tool_calls ?? Infinity
  }

  /** Returns how many of these calls the request allows to run, beside those of earlier turns. */
  admit (calls: number): number {
    const admitted = Math.min(calls, this.#callsLeft)
    this.#callsLeft -= admitted
    return admitted
  }

  isLastTurn (turn: number): boolean {
    return turn === this.#maxTurns
  }

  /** Returns why the calls of a turn are not run, if so. Calls that are run are remembered: called once a turn. */
  stopReason (calls: readonly TurnToolCall[], { turn, outOfTime, tokens, canAffordTurn }: LoopState): StopReason | undefined {
    if (calls.length === 0) return undefined
    if (this.isLastTurn(turn)) return 'max_turns'
    if (outOfTime) return 'deadline'
    if (tokens >= this.#limits.loopTokens) return 'tokens'
    if (!canAffordTurn()) return 'budget'
    if (calls.length > this.#limits.callsPerTurn) return 'calls_per_turn'
    return this.#areRepeated(calls) ? 'repeated_call' : undefined
  }

  #areRepeated (calls: readonly TurnToolCall[]): boolean {
    let repeated = false
    for (const { name, argumentsText } of calls) {
      const key = JSON.stringify([name, argumentsText])
      const times = this.#made.get(key) ?? 0
      this.#made.set(key, times + 1)
      repeated ||= times >= this.#limits.maxIdenticalCalls
    }
    return repeated
  }
}
