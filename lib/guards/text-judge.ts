/** Asynchronous inspections of texts, by a service, a model or a module. */

import type { Route } from '../core/route.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { ChatEvent } from '../core/events.ts'
import type { TextPlace } from '../json/place-table.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { GuardPoint } from '../../schemas/config/guards.ts'

/** A text, and the point at which a guard sees it. */
export interface TextAtPoint {
  readonly text: string
  readonly point: GuardPoint
}

export interface Verdict {
  /** If set, refuses the call with this message, which must not quote the text. */
  readonly refusal?: string | undefined
  /** The texts to pass on, same length as the input. Default: the input. */
  readonly texts?: readonly string[] | undefined
  /** Default: the number of changed texts. */
  readonly findings?: number | undefined
}

export interface JudgeContext {
  readonly call: RoutedCall<unknown>
  /** Aborts when the caller disconnects or the guard's timeout expires. */
  readonly signal: AbortSignal
}

/** Pipeline stages for calls, and for events of conversation answers. */
export interface ModuleStages {
  readonly request?: Stage<RoutedCall<unknown>> | undefined
  readonly answer?: Stage<Batch<unknown, ChatEvent>> | undefined
}

/** What a guard may spend on a model for one inspection, in addition to the tokens of the texts. */
export interface JudgeSpending {
  readonly route: Route
  readonly promptTokens: number
  readonly answerTokens: number
}

/** The implementation of a kind of guard: a model, a service or a module. */
export interface Judge {
  /** Supported points. Default: all. */
  readonly points?: readonly GuardPoint[]
  /** Default: its inspections cost nothing. */
  readonly spends?: JudgeSpending
  /**
   * A GatewayError `insufficient_quota` ends the call; any other error means that the guard is unavailable.
   */
  readonly inspect: (texts: readonly TextAtPoint[], context: JudgeContext) => Promise<Verdict>
  /** Additional pipeline stages for calls and answers. Default: none. */
  readonly stages?: ModuleStages | undefined
  /** Releases its resources. Default: it has none. */
  readonly close?: () => Promise<void>
}

/** Closes judges that will not be used. Errors are ignored so that they do not hide the original one. */
export async function closeJudges (judges: ReadonlyMap<string, Judge>): Promise<void> {
  await Promise.allSettled([...judges.values()].map(async judge => await judge.close?.()))
}

/** How much of a stream is inspected at a time. */
export interface JudgeWindow {
  /** Characters of text that trigger an inspection. */
  readonly characters: number
  /**
   * Characters at the end that are inspected again with the text that follows: a finding may begin there.
   */
  readonly overlap: number
  /** Maximum milliseconds that text waits for more. */
  readonly maxWaitMs: number
}

/** A guard inspecting one call. */
export interface CallJudge {
  /** False for a guard that only reports findings: answers do not wait for it. */
  readonly alters: boolean
  /** True if it may inspect a request while the provider answers. Default: false. */
  readonly duringAnswer?: boolean
  /** Absent: a stream is inspected when complete. */
  readonly window?: JudgeWindow | undefined
  /** Returns the point at which the guard sees the texts of a place; `undefined` if it does not see them. */
  readonly pointOf: (place: TextPlace) => GuardPoint | undefined
  /**
   * Returns the texts to pass on, in order.
   *
   * @throws GatewayError that refuses the call
   */
  readonly inspect: (texts: readonly TextAtPoint[]) => Promise<readonly string[]>
  /** Returns the error for a finding that cannot be replaced. */
  readonly refusal: () => GatewayError
}
