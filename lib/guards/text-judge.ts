/** Asynchronous checks of texts, by a service, a model or a module. */

import type { Route } from '../core/route.ts'
import type { Batch } from '../core/batch.ts'
import type { RoutedCall } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { ChatEvent } from '../core/events.ts'
import type { TextPlace } from '../json/place-table.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { GuardPoint } from '../../schemas/config/stages.ts'

/** A text, and the point at which a guard sees it. */
export interface TextAtPoint {
  readonly text: string
  readonly point: GuardPoint
}

export interface Verdict {
  /** Refuses the call: says to its caller what was found, without the text. */
  readonly refusal?: string | undefined
  /** The texts as they may go on, as many as were given. Default: as they were given. */
  readonly texts?: readonly string[] | undefined
  /** Default: the number of texts that differ. */
  readonly findings?: number | undefined
}

export interface JudgeContext {
  readonly call: RoutedCall<unknown>
  /** Aborts when the caller has gone or the time of the guard is over. */
  readonly signal: AbortSignal
}

/** Stages that calls pass, and the events of answers of conversations. */
export interface ModuleStages {
  readonly request?: Stage<RoutedCall<unknown>> | undefined
  readonly answer?: Stage<Batch<unknown, ChatEvent>> | undefined
}

/** What a guard may spend on a model for one look, beside the tokens of the texts. */
export interface JudgeSpending {
  readonly route: Route
  readonly promptTokens: number
  readonly answerTokens: number
}

/** One guard of the configuration. */
export interface Judge {
  /** The points that it knows what to do at. Default: all. */
  readonly points?: readonly GuardPoint[]
  /** Default: its looks are not billed. */
  readonly spends?: JudgeSpending
  /**
   * A GatewayError `insufficient_quota` ends the call; anything else that it throws means that it could not
   * look.
   */
  readonly look: (texts: readonly TextAtPoint[], context: JudgeContext) => Promise<Verdict>
  /** Stages of its own that calls and answers pass as well. Default: none. */
  readonly stages?: ModuleStages | undefined
  /** Closes what it holds. Default: it holds nothing. */
  readonly close?: () => Promise<void>
}

/** How much of a stream is checked at a time. */
export interface JudgeWindow {
  /** Characters of a text after which it is looked at. */
  readonly characters: number
  /** Characters at its end that are looked at again with what follows, since a finding may begin in them. */
  readonly overlap: number
  /** Milliseconds that text waits for more of it at most. */
  readonly maxWaitMs: number
}

/** A guard looking at one call. */
export interface CallJudge {
  /** False for one that only reports: answers do not wait for it. */
  readonly alters: boolean
  /** True for one that may look at a request while the provider answers. Default: false. */
  readonly duringAnswer?: boolean
  /** Absent: a stream is looked at when it is complete. */
  readonly window?: JudgeWindow | undefined
  /** Returns the point at which the guard sees the texts of a place; `undefined`: it does not see them. */
  readonly pointOf: (place: TextPlace) => GuardPoint | undefined
  /**
   * Returns the texts as they may go on, in their order.
   *
   * @throws GatewayError that refuses the call
   */
  readonly judge: (texts: readonly TextAtPoint[]) => Promise<readonly string[]>
  /** Makes the error for a finding where nothing can be replaced. */
  readonly refusal: () => GatewayError
}
