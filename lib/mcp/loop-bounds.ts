/** Decides when a tool loop ends although the model calls tools. */

import { defaultTurns } from '../limits/estimate-chat.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ToolSettings } from '../core/settings.ts'
import type { TurnToolCall } from '../chat/turn.ts'

export type ToolBounds = Pick<ToolSettings, 'loopMs' | 'loopTokens' | 'callsPerTurn' | 'maxIdenticalCalls'>

/** Why the loop ended although the model had called server tools. */
export type StopReason = 'max_turns' | 'deadline' | 'tokens' | 'budget' | 'calls_per_turn' | 'repeated_call'

/**
 * The reason why each call is not run, worded for the model and the caller; `undefined` for calls that run.
 */
export type Refusals = ReadonlyArray<string | undefined>

/** The loop's state after a turn. */
export interface LoopState {
  /** Starts at 1. */
  readonly turn: number
  readonly outOfTime: boolean
  /** Tokens of all turns so far; estimated if not reported. */
  readonly tokens: number
  /** Returns true if the budget allows another turn. */
  readonly canAffordTurn: () => boolean
}

export class LoopBounds {
  readonly #bounds: ToolBounds
  readonly #maxTurns: number
  #callsLeft: number
  /** How often each call was made, by name and arguments. */
  readonly #made = new Map<string, number>()

  constructor (bounds: ToolBounds, request: Pick<ChatInput, 'max_turns' | 'max_tool_calls'>) {
    this.#bounds = bounds
    this.#maxTurns = request.max_turns ?? defaultTurns
    this.#callsLeft = request.max_tool_calls ?? Infinity
  }

  /** Admits the calls of a turn, up to the request's limit for all turns. */
  admit (calls: readonly TurnToolCall[]): Refusals {
    return calls.map(() => this.#admitOne())
  }

  /**
   * Admits calls that the caller has approved, with the limits of one turn and of identical calls, because a
   * request may contain any number. Calls beyond a limit are skipped and the answer continues: there is no
   * model turn to stop.
   */
  admitApproved (calls: readonly TurnToolCall[]): Refusals {
    const { callsPerTurn, maxIdenticalCalls } = this.#bounds
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
   * Returns why the calls of a turn must not run, if so. Records the calls that run; call it once per turn.
   */
  stopReason (
    calls: readonly TurnToolCall[],
    { turn, outOfTime, tokens, canAffordTurn }: LoopState
  ): StopReason | undefined {
    if (calls.length === 0) return undefined
    if (this.isLastTurn(turn)) return 'max_turns'
    if (outOfTime) return 'deadline'
    if (tokens >= this.#bounds.loopTokens) return 'tokens'
    if (!canAffordTurn()) return 'budget'
    if (calls.length > this.#bounds.callsPerTurn) return 'calls_per_turn'
    return this.#areRepeated(calls) ? 'repeated_call' : undefined
  }

  #areRepeated (calls: readonly TurnToolCall[]): boolean {
    let repeated = false
    for (const call of calls) {
      repeated ||= this.#timesMade(call) >= this.#bounds.maxIdenticalCalls
      this.#noteMade(call)
    }
    return repeated
  }

  #admitOne (): string | undefined {
    if (this.#callsLeft === 0) return 'The limit `max_tool_calls` of the request has been reached.'
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

/** Returns a key shared by identical calls of a tool. */
function identityOf ({ name, argumentsText }: TurnToolCall): string {
  return JSON.stringify([name, argumentsText])
}
