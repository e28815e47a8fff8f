/**
 * What a request may use: for reservations, dry runs, and answers whose provider reports no usage.
 * `estimate-chat` estimates conversations, `estimate-units` the requests of other endpoints.
 */

import { amountOf, type EstimatedUnits, type Units } from '../core/usage.ts'
import { recordedNonTokenUnits, type NonTokenColumn } from '../../schemas/billed-units.ts'
import type { UsageEstimator } from '../core/usage-facts.ts'
import type { RequestedAmount } from './reservation.ts'
import type { Route } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'

export interface Estimate {
  readonly prompt: PromptEstimate
  readonly answer: AnswerEstimate
  /**
   * Units used in addition to tokens or instead of them. Token estimates of such a call are used only if the
   * model is billed by tokens and the provider reports none, and never count in limits of tokens per minute.
   */
  readonly units: UnitsEstimate | undefined
  /**
   * Images reserved for a call with an image generation tool. Further images count when the call ends,
   * because no request limits them.
   */
  readonly toolImages: number
  /** The field that changes the bill in a way that no price covers. */
  readonly unpriced: string | undefined
}

/** Tokens of a prompt. */
export interface PromptEstimate {
  readonly typical: number
  /** What strict budgets reserve; rare characters may take up to twice as much. Default: `typical`. */
  readonly max: number
  /** Their maximum tokens depend on the model and are not in `max`. Default: none. */
  readonly media: PromptMedia
  /** True if part of the prompt is marked for the provider's cache. Default: false. */
  readonly writesCache: boolean
}

/** Numbers of media in a prompt. */
export interface PromptMedia {
  /** Inline or by URL. */
  readonly images: number
  /** Inline only. */
  readonly recordings: number
  /**
   * Documents, videos, and files that a provider stores or fetches: a few bytes may stand for thousands of
   * pages.
   */
  readonly others: number
}

export const noMedia: PromptMedia = { images: 0, recordings: 0, others: 0 }

/** Tokens of the answers to a prompt. */
export interface AnswerEstimate {
  /** Tokens of all choices: the request's limit, or a typical length. */
  readonly typical: number
  /** The request's limit on one answer. Default: only the model limits it. */
  readonly limit: number | undefined
  /** The shortest answer that is worth requesting. Default 0. */
  readonly min: number
  /** Reasoning tokens a model may add to an answer without a limit. Default 0. */
  readonly reasoning: number
  /** Choices per answer. A provider that returns one at a time reads the prompt for each. Default 1. */
  readonly choices: number
  /** Answers the call may request: one for each choice, or each turn of a tool loop. Default 1. */
  readonly count: number
  /** The most web searches a provider may make for one answer, if the request limits them. Default 0. */
  readonly searches: number
}

export interface UnitsEstimate {
  readonly typical: Units
  /** The most units the call can use. Default: `typical`. */
  readonly max: Units
  /** The fewest units worth reserving if the most do not fit. Default: `max`. */
  readonly min: Units
  /** Tokens of the answer that are billed in addition to the units. Default: none. */
  readonly answerTokens: number
}

/** The parts of an estimate; those with a default may be absent. */
export interface EstimateParts {
  readonly prompt: Partial<PromptEstimate> & Pick<PromptEstimate, 'typical'>
  readonly answer: Partial<AnswerEstimate> & Pick<AnswerEstimate, 'typical'>
  readonly units?: Partial<UnitsEstimate> & Pick<UnitsEstimate, 'typical'>
}

/** Builds an estimate from its parts, filling in defaults. */
export function estimateOf ({ prompt, answer, units }: EstimateParts): Estimate {
  return {
    prompt: { max: prompt.typical, media: noMedia, writesCache: false, ...prompt },
    answer: { limit: undefined, min: 0, reasoning: 0, choices: 1, count: 1, searches: 0, ...answer },
    units: units && { max: units.typical, min: units.max ?? units.typical, answerTokens: 0, ...units },
    toolImages: 0,
    unpriced: undefined
  }
}

/** The estimate of a request that uses no tokens. */
export const noTokens = estimateOf({ prompt: { typical: 0 }, answer: { typical: 0 } })

/** Estimates a request: the most that any of the routes may use with its settings. */
export type Estimator<R> = (request: R, routes: readonly Route[]) => Estimate

/** Tokens of an answer, assumed if the caller does not limit it. */
export const answerTokens = 1000

/**
 * The estimate of one request, computed on first use and kept: it reads every text of the request, which
 * takes milliseconds for a large one.
 */
export class RequestEstimate<R> implements UsageEstimator {
  readonly #estimate: Estimator<R> | undefined
  /** Undefined once the estimate is computed. */
  #request: R | undefined
  readonly #routes: readonly Route[]
  #value: Estimate | undefined
  /**
   * The media tokens to count if the provider reports no usage: strict budgets count the most that a call can
   * cost.
   */
  mediaTokens = 0

  constructor (
    { request, routes }: Pick<RoutedCall<R>, 'request' | 'routes'>,
    estimate: Estimator<R> | undefined
  ) {
    this.#request = request
    this.#routes = routes
    this.#estimate = estimate
  }

  get value (): Estimate {
    if (this.#value === undefined) {
      // the request is defined until the estimate is
      this.#value = this.#estimate?.(this.#request as R, this.#routes) ?? noTokens
      this.#request = undefined
    }
    return this.#value
  }

  countPrompt (): number | undefined {
    const { prompt, units } = this.value
    return units === undefined ? prompt.typical + this.mediaTokens : undefined
  }

  countAnswer (share = 1): number {
    const { typical, choices } = this.value.answer
    return Math.ceil(Math.min(typical, choices * answerTokens) * share)
  }

  estimateUnits (): EstimatedUnits | undefined {
    const { units, prompt, answer } = this.value
    return units && { ...units.typical, promptTokens: prompt.typical, completionTokens: answer.typical }
  }
}

/**
 * Returns the wanted amounts of units billed instead of tokens or made by a tool. Unused units are absent.
 */
export function requestedUnits (
  { units, toolImages }: Pick<Estimate, 'units' | 'toolImages'>
): Partial<Record<NonTokenColumn, RequestedAmount>> {
  const wanted: Partial<Record<NonTokenColumn, RequestedAmount>> = {}
  if (toolImages > 0) wanted.images = { max: toolImages }
  if (units === undefined) return wanted
  for (const { name, column, perUnit } of recordedNonTokenUnits) {
    const amountIn = (of: Units): number => Math.ceil((amountOf(name, undefined, of) ?? 0) * perUnit)
    const most = amountIn(units.max)
    if (most > 0) wanted[column] = { max: most, min: amountIn(units.min), typical: amountIn(units.typical) }
  }
  return wanted
}
