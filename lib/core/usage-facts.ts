/** What a call used, and the estimates where a provider does not report it. */

import {
  addUsage,
  estimatedRequests,
  reportedBy,
  capParts,
  sumOfUsage,
  type EstimatedUnits,
  type ReportedUsage,
  type Units,
  type Usage
} from './usage.ts'

/** The share of a call that one of its several requests has, from 0 (nothing) to 1 (all of it). */
export interface PartShare {
  readonly prompt: number
  readonly answer: number
  /** Of the images. */
  readonly images: number
}

/**
 * A request that a provider bills although its answer was not used. Without `usage`, the usage is estimated
 * from the request of the call.
 */
export interface WastedRequest {
  readonly modelId: string
  readonly usage?: Usage | undefined
  /** Default: the whole call. */
  readonly share?: PartShare | undefined
  /** Estimates the tokens of its prompt. Default: the estimate of the call, whose first turn it was. */
  readonly countPrompt?: (() => number) | undefined
}

/** A request of a guard to a model, billed with the call. */
export interface JudgeRequest {
  readonly modelId: string
  readonly usage: Usage
  readonly isEstimated: boolean
  /** Maximum usage, while the request is open. */
  readonly maxUsage?: Usage
}

/** Estimates the usage of a request: for reservations, and where the provider reports no usage. */
export interface UsageEstimator {
  /** Counts the tokens of the request. */
  readonly countPrompt: () => number | undefined
  /**
   * Guesses the tokens of an unknown answer: the reserved number, unless the caller allows far more than is
   * usual.
   *
   * @param share of the answer, up to 1. Default: 1
   */
  readonly countAnswer: (share?: number) => number
  /** Estimates usage in units other than tokens, where the request determines it. */
  readonly estimateUnits: () => EstimatedUnits | undefined
}

/** What was recorded when a turn began. */
export interface OpenTurn {
  /** Before the turn: requests to providers, attempts that may be billed, and characters of output. */
  readonly requestCount: number
  readonly attemptsAtWork: number
  readonly outputCharacters: number
  readonly countPrompt: () => number
}

/** What a call used; priced when the call ends. */
export class UsageFacts {
  /** Absent until something is known. */
  total: Usage | undefined = undefined
  /** True if `total` is partly or wholly estimated, or incomplete. */
  isEstimated: boolean | undefined = undefined
  /**
   * The usage of each answer that `total` adds up, and of its `requests` if it took several. Each request is
   * priced separately, since long prompts have other prices. `earlier` is the usage of the call before that
   * answer; a later report with the same `earlier` replaces it.
   */
  answers: ReadonlyArray<{
    readonly earlier: Usage | undefined
    readonly usage: Usage
    readonly requests?: readonly Usage[]
  }> = []
  /** Estimates the usage of the call when the provider does not report any. */
  estimate: UsageEstimator | undefined = undefined
  /** Requests that a provider will bill although their answers could not be used. */
  wasted: WastedRequest[] | undefined = undefined
  /** Requests of guards to models. */
  judgeRequests: JudgeRequest[] | undefined = undefined
  /** The current turn of a tool loop, until the provider has reported its usage. */
  openTurn: OpenTurn | undefined = undefined
  /** Usage reported during the last answer; counts if the answer ended without final usage. */
  reported: ReportedUsage | undefined = undefined
  /** True if a turn had to be estimated. */
  hasEstimatedTurns: boolean | undefined = undefined
  /** Length of the answer's text so far, for an estimate when no usage is reported. */
  outputCharacters: number | undefined = undefined
  /**
   * Usage in units other than tokens: generated images, with size and quality from the provider or the
   * request; pages read; seconds of audio as the provider counted them; code points of spoken text.
   */
  units: Units | undefined = undefined
}

/**
 * Records the reported usage of one answer, added to the usage of `earlier` turns of the call.
 *
 * @param requests the usage of each request, if `reported` is the sum of several
 */
export function noteUsage (
  recorded: UsageFacts,
  reported: Usage,
  earlier: Usage | undefined,
  requests?: readonly Usage[]
): void {
  const usage = capParts(reported)
  recorded.total = earlier === undefined ? usage : addUsage(earlier, usage) ?? usage
  const { answers } = recorded
  const others = answers.at(-1)?.earlier === earlier ? answers.slice(0, -1) : answers
  recorded.answers = [
    ...others,
    { earlier, usage, ...requests !== undefined && { requests: requests.map(capParts) } }
  ]
  recorded.isEstimated = recorded.hasEstimatedTurns === true
  recorded.openTurn = undefined
}

/** Begins a turn of a tool loop: until the turn reports its usage, the recorded usage is incomplete. */
export function beginTurn (
  recorded: UsageFacts,
  { requestCount, attemptsAtWork }: { readonly requestCount: number, readonly attemptsAtWork: number },
  countPrompt: () => number
): void {
  recorded.openTurn = {
    requestCount,
    attemptsAtWork,
    outputCharacters: recorded.outputCharacters ?? 0,
    countPrompt
  }
  recorded.reported = undefined
  if (recorded.total !== undefined) recorded.isEstimated = true
}

/** Ends a turn. The usage is estimated if the provider did not report it. */
export function endTurn (recorded: UsageFacts, hasReported: boolean): void {
  const { openTurn } = recorded
  if (hasReported || openTurn === undefined) return
  recorded.hasEstimatedTurns = true
  const requests = estimatedTurn(openTurn, recorded)
  noteUsage(recorded, sumOfUsage(requests), recorded.total, requests)
}

/** Estimates the usage of each request of the open turn so far. */
export function estimatedTurn (
  { countPrompt, outputCharacters: before }: OpenTurn,
  { outputCharacters = 0, reported = reportedBy(undefined) }: UsageFacts
): readonly Usage[] {
  return estimatedRequests(reported, countPrompt(), outputCharacters - before)
}

/** Adds to the length of an answer's text, for an estimate if the answer ends without usage. */
export function noteOutput (recorded: UsageFacts, characters: number): void {
  if (characters > 0) recorded.outputCharacters = (recorded.outputCharacters ?? 0) + characters
}
