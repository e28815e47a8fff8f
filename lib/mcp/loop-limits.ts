/** Decides when a tool loop ends although the model calls tools. */

import { defaultTurns } from '../limits/estimate.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ToolSettings } from '../core/settings.ts'
import type { TurnToolCall } from '../chat/turn.ts'

export type ToolLimits = Pick<ToolSettings, 'loopMs' | 'loopTokens' | 'callsPerTurn' | 'maxIdenticalCalls'>

/** The reason why the loop ended although the model had called server tools. */
export type StopReason = 'max_turns' | 'deadline' | 'tokens' | 'budget' | 'calls_per_turn' | 'repeated_call'

/**
 * Says why each of some calls is not run, as the model and the caller read it; `undefined` for those that
 * are.
 */
export type Refusals = ReadonlyArray<string | undefined>

/** The state of the loop after a turn. */
export interface LoopState {
  /** From 1. */
  readonly turn: number
  readonly outOfTime: boolean
  /** Tokens of all turns so far, estimated where they are not reported. */
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

  /** Admits as many of the calls of a turn as the request allows, beside those that were admitted before. */
  admit (calls: readonly TurnToolCall[]): Refusals {
    return calls.map(() => this.#admitOne())
  }

  /**
   * Admits calls that the caller has consented to: at most those of one turn, and no more with the same
   * arguments than a model may make. A request may bring any number of them. No turn of a model is there to
   * be stopped: a call beyond a limit is not run, and the answer goes on.
   */
  admitApproved (calls: readonly TurnToolCall[]): Refusals {
    const { callsPerTurn, maxIdenticalCalls } = this.#limits
    let admitted = 0
    return calls.map(call => {
      if (admitted === callsPerTurn) {
        return `The maximum number of tool calls in one turn is ${callsPerTurn}.`
      }
      if (this.#timesMade(call) >= maxIdenticalCalls) {
        return `The maximum number of calls to a tool with the same arguments is ${maxIdenticalCalls}.`
      }
      const refusal = this.#admitOne()
      if (refusal !== undefined) return refusal
      admitted++
      this.#noteMade(call)
      return undefined
    })
  }

  isLastTurn (turn: number): boolean {
    return turn === this.#maxTurns
  }

  /**
   * Returns why the calls of a turn are not run, if so. Calls that are run are remembered: called once a
   * turn.
   */
  stopReason (
    calls: readonly TurnToolCall[],
    { turn, outOfTime, tokens, canAffordTurn }: LoopState
  ): StopReason | undefined {
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
    for (const call of calls) {
      repeated ||= this.#timesMade(call) >= this.#limits.maxIdenticalCalls
      this.#noteMade(call)
    }
    return repeated
  }

  #admitOne (): string | undefined {
    if (this.#callsLeft === 0) return 'The request allows no more tool calls.'
    this.#callsLeft--
    return undefined
  }

  #timesMade (call: TurnToolCall): number {
    return this.#made.get(identityOf(call)) ?? 0
  }

  #noteMade (call: TurnToolCall): void {
    this.#made.set(identityOf(call), this.#timesMade(call) + 1)
  }
}

/** Returns what calls of one tool with the same arguments have in common. */
function identityOf ({ name, argumentsText }: TurnToolCall): string {
  return JSON.stringify([name, argumentsText])
}
