/**
 * The facts of one call: set by the stages as they learn them, read by the log line, the usage ledger,
 * metrics, spans and headers of the reply. It has no credentials, and bodies only if the project keeps them.
 * `target` and `placeholders` may hold secrets and are never printed unchanged.
 */

import type { BodyCapture } from './body-capture.ts'
import type { CallTrace, ChildSpan } from './call-trace.ts'
import type { Placeholders } from './placeholders.ts'
import type { GuardFindings } from './guard-findings.ts'
import { asGatewayError, type ErrorCode } from './errors.ts'
import type { Route } from './route.ts'
import {
  addUsage,
  estimatedAnswer,
  reportedBy,
  withinWholes,
  type EstimatedUnits,
  type ReportedUsage,
  type Units,
  type Usage
} from './usage.ts'
import type { Refusal } from './key.ts'

/** How a call ended. A disconnect is an outcome, not an error. */
export type Outcome = 'ok' | 'error' | 'client_closed' | 'client_too_slow'

/** A route that was tried without success, or skipped. */
export interface FailedAttempt {
  readonly route: Route
  /** An error code, or why the route was not called. */
  readonly reason: string
}

/** A request to a provider. Times are by `performance.now()`. */
export interface SentRequest {
  readonly route: Route
  readonly startedAtMs: number
  /** When the first visible output came or the request failed; absent while waiting. */
  endedAtMs: number | undefined
  /** When the answer was read to its end or abandoned; absent without an answer. */
  completedAtMs: number | undefined
  /** Why the answer was not used. */
  reason: string | undefined
  /** HTTP status of a refusal. */
  status: number | undefined
  /** Absent where the call has no trace. */
  readonly span?: ChildSpan | undefined
}

/** One of the requests that an attempt was split into. Times are by `performance.now()`. */
export interface SentPart {
  readonly route: Route
  /** Its place among the parts, from 1. */
  readonly number: number
  readonly startedAtMs: number
  /** When its answer was read to its end, or it failed; absent while waiting. */
  endedAtMs: number | undefined
  /** An error code, or `cancelled`; absent for one that succeeded. */
  reason: string | undefined
  /** HTTP status of a refusal. */
  status: number | undefined
  readonly span: ChildSpan
  /** The span of the attempt. */
  readonly attemptSpan: ChildSpan
}

/** A request for the tool list of a server. Times are by `performance.now()`. */
export interface ToolListing {
  readonly serverName: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** `ok`, or the step that failed: `connect_failed`. */
  readonly outcome: 'ok' | `${string}_failed`
  /** Absent where the call has no trace. */
  readonly span: ChildSpan | undefined
}

/** A call to a server's tool. Times are by `performance.now()`. */
export interface ToolRun {
  readonly serverName: string
  readonly toolName: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly outcome: 'ok' | 'tool_error' | 'server_failed' | 'not_run' | 'cancelled'
  /** Absent where the call has no trace. */
  readonly span?: ChildSpan | undefined
}

/**
 * A request that a provider bills although its answer was not used. Without `usage`, the usage is estimated
 * from the request of the call.
 */
export interface WastedRequest {
  readonly modelId: string
  readonly usage?: Usage | undefined
}

/** A request of a guard to a model, billed with the call. */
export interface JudgedRequest {
  readonly modelId: string
  readonly usage: Usage
  readonly estimated: boolean
  /** Maximum usage, while the request is open. */
  readonly mostUsage?: Usage
}

/** Estimates the usage of a request: for reservations, and where the provider reports no usage. */
export interface RecordedEstimate {
  /** Counts the tokens of the request. */
  readonly countPrompt: () => number | undefined
  /**
   * Guesses the tokens of an unknown answer: the reserved number, unless the caller allows far more than is
   * usual.
   */
  readonly countAnswer: () => number
  /** Estimates usage in units other than tokens, where the request determines it. */
  readonly estimateUnits: () => EstimatedUnits | undefined
}

/** The state of a record when a turn began. */
export interface OpenTurn {
  readonly attempts: number
  readonly outputCharacters: number
  readonly countPrompt: () => number
}

/** A soft budget that is used up. */
export interface ExceededBudget {
  /** The party's name in the counters. */
  readonly party: string
  /** In words: `$20 a month`. */
  readonly budget: string
  /** The end of its window, in Unix milliseconds. */
  readonly endMs: number
}

/**
 * Every field is set from the start, so that all records have one shape: fields added later made every
 * function that reads records megamorphic.
 */
export class CallRecord {
  // The call.
  readonly endpoint: string
  /** Method and path of a request to an alias, or to no known endpoint. */
  requestLine: string | undefined = undefined
  /** Fields of the request that had no effect, as `x-headgate-ignored` lists them. */
  ignoredFields: string[] | undefined = undefined
  /** The limit of the answer, if the request allowed more than its model or its budget does. */
  maxTokens: number | undefined = undefined
  keyId: string | undefined = undefined
  keyName: string | undefined = undefined
  /** Absent for a key in the default project. */
  projectName: string | undefined = undefined
  /** The refused key, as far as it may be logged. */
  refusedKey: string | undefined = undefined
  /** The HTTP method; absent for a call without an HTTP request. */
  method: string | undefined = undefined
  /** The path of its endpoint, with the names of its parameters. */
  path: string | undefined = undefined
  /** Path and query as the caller wrote them; a query may hold secrets. */
  target: string | undefined = undefined
  /** True if the connection uses TLS. */
  encrypted = false
  /** Its place in a distributed trace; absent where no traces are sent. */
  trace: CallTrace | undefined = undefined
  /** The other end of the connection. */
  remoteAddress: string | undefined = undefined
  /** As the caller wrote it. */
  requestedModel: string | undefined = undefined
  /** Labels for finding calls and summing up cost: the key's and its project's first, then the caller's. */
  tags: readonly string[] | undefined = undefined
  /** The user of the caller's application: the name from the caller, or its digest by `digestEndUser`. */
  endUser: string | undefined = undefined
  /** Returns the digest that replaces an end user's name; absent if names are stored as given. */
  digestEndUser: ((name: string) => string) | undefined = undefined
  /** The session that the call belongs to, as the caller names it. */
  session: string | undefined = undefined
  /** Parties, other than key, project and member, toward whose budgets the call counts. */
  parties: readonly string[] | undefined = undefined
  /** Soft budgets that were used up when the call was admitted. */
  exceededBudgets: readonly ExceededBudget[] | undefined = undefined
  /** True if the call was admitted without reading its end user's spending from the store. */
  budgetUnread: boolean | undefined = undefined
  /** The caller's metadata as strings; values that are not strings are also in `unsentMetadata`. */
  metadata: Readonly<Record<string, string>> | undefined = undefined
  /** True if values of `metadata` need not be strings. */
  acceptsAnyMetadata = false
  /** Metadata values that are not strings; they were removed from the request. */
  unsentMetadata: Readonly<Record<string, unknown>> | undefined = undefined
  /** Size of a JSON body, after decompression. */
  bodyBytes = 0
  /** Memory of the stored responses that the request uses. */
  storedInputBytes = 0
  streamed: boolean | undefined = undefined
  /** True if the caller sent their own key for the provider, who bills them. */
  callerProviderKey: boolean | undefined = undefined
  /** True for a call that only asks for its routes. */
  dryRun: boolean | undefined = undefined
  /**
   * True if another call delivers the answer: this one got a receipt, or 202 because the answer was not
   * ready.
   */
  deferred: boolean | undefined = undefined

  // Its routes.
  /** The gateway id of the model that succeeded (or was last tried). */
  modelId: string | undefined = undefined
  providerId: string | undefined = undefined
  upstreamRequestId: string | undefined = undefined
  /** Provider limits of the caller's own key, as headers of the dialect that caller and provider share. */
  upstreamLimits: Readonly<Record<string, string>> | undefined = undefined
  /** Best first, without skipped routes. */
  routes: readonly Route[] | undefined = undefined
  /** The route that succeeded. */
  chosen: Route | undefined = undefined
  /** Number of requests to providers, including retries and fallbacks. */
  attempts = 0
  /** Size of the provider's complete JSON answer. */
  answerBytes = 0
  /** Number of further attempts at a model that had just failed. */
  retries: number | undefined = undefined
  /** Number of requests started because another one was slow. */
  hedges: number | undefined = undefined
  /** Number of started turns of a tool loop. */
  turns: number | undefined = undefined
  /** Why other routes were not used: one entry per failed attempt or skipped route. */
  failedAttempts: FailedAttempt[] | undefined = undefined
  /** Requests to providers, in order of sending. */
  requests: SentRequest[] | undefined = undefined
  /** The parts of split requests; absent where the call has no trace. */
  sentParts: SentPart[] | undefined = undefined
  /** Tool calls, in order of their end. */
  toolRuns: ToolRun[] | undefined = undefined
  /** Requests for the tools of servers, including failed ones. */
  toolListings: ToolListing[] | undefined = undefined

  /** The result of the lookup in the cache of answers; absent where there is no cache. */
  cache: 'hit' | 'miss' | 'bypass' | undefined = undefined

  // Times.
  /** `performance.now()` when the key was found valid. */
  keyCheckedAtMs: number | undefined = undefined
  /**
   * Milliseconds spent waiting for others until the head of the answer: providers, pauses between attempts,
   * tool servers.
   */
  upstreamWaitMs = 0
  /** Milliseconds that the gateway itself took until the head of the answer. */
  overheadMs: number | undefined = undefined
  /** Milliseconds from acceptance to the first output of a stream; streams only. */
  firstByteMs: number | undefined = undefined

  /** True until guards have inspected the request; nothing of the request is kept before. */
  awaitsInspection = false
  /** The guards that inspect the texts, as reported to the caller. */
  stages: readonly string[] | undefined = undefined
  /** What guards found in the texts. */
  findings: GuardFindings | undefined = undefined
  /** The values behind the placeholders in the texts. Only the caller gets them; never printed. */
  placeholders: Placeholders | undefined = undefined

  /** Ids of the tool calls in the answer. */
  toolCallIds: string[] | undefined = undefined

  // What it used (`stages/record-usage`).
  usage: Usage | undefined = undefined
  /** True if `usage` is partly or wholly estimated, or incomplete. */
  usageEstimated: boolean | undefined = undefined
  /**
   * The usage of each answer that `usage` adds up. Each is priced separately, since long prompts have other
   * prices. `earlier` is the usage of the call before that answer; a later report with the same `earlier`
   * replaces it.
   */
  answerUsages: ReadonlyArray<{ readonly earlier: Usage | undefined, readonly usage: Usage }> = []
  /** Estimates the usage of the call when the provider does not report any. */
  estimate: RecordedEstimate | undefined = undefined
  /** Requests that a provider will bill although their answers could not be used. */
  wasted: WastedRequest[] | undefined = undefined
  /** Requests of guards to models. */
  judged: JudgedRequest[] | undefined = undefined
  /** The current turn of a tool loop, until the provider has reported its usage. */
  openTurn: OpenTurn | undefined = undefined
  /** Usage reported during the last answer; counts if the answer ended without final usage. */
  reported: ReportedUsage | undefined = undefined
  /** True if a turn had to be estimated. */
  turnsEstimated: boolean | undefined = undefined
  /** Length of the answer's text so far, for an estimate when no usage is reported. */
  outputCharacters: number | undefined = undefined
  /**
   * Usage in units other than tokens: generated images, with size and quality from the provider or the
   * request; pages read; seconds of audio as the provider counted them; code points of spoken text.
   */
  units: Units | undefined = undefined

  // The limits that hold for it.
  /** What remains of the limits, as headers of the answer. */
  limitHeaders: Readonly<Record<string, string>> | undefined = undefined
  /** True if the key's project must not see costs. */
  hidesCost = false
  /**
   * The smallest remaining budget when the call was admitted, in billionths of a dollar.
   */
  budgetLeftNanoUsd: number | undefined = undefined
  /** The cost, as headers of a complete answer. */
  costHeaders: Readonly<Record<string, string>> | undefined = undefined
  /** The id of the reservation, to be settled with the actual usage. */
  reservation: number | undefined = undefined
  /** The id of the future usage row, if the reservation names it. */
  rowId: string | undefined = undefined
  /**
   * Maximum cost of the call, in billionths of a dollar, if a budget with `strict` limits applies.
   */
  maxCostNanoUsd: number | undefined = undefined
  /**
   * The amount reserved from budgets, in billionths of a dollar; absent if no budget applies.
   */
  reservedNanoUsd: number | undefined = undefined
  /** The charge for a receipt until its answer is fetched. */
  chargedNanoUsd: number | undefined = undefined
  /** The charge for the receipt of a fetched answer, which the real cost replaces. */
  refundedNanoUsd: number | undefined = undefined
  /** The limit that refused the call. */
  refusedBy: Refusal | undefined = undefined

  /** Captures the bodies, if the project or the spans keep them. */
  bodies: BodyCapture | undefined = undefined

  // Kept by `limits/usage-recorder`.
  /**
   * The journal entry of the row. Not in a `WeakMap`, whose entries the garbage collector visits at every
   * scavenge.
   */
  journaled: object | undefined = undefined
  /** The wait until the call is journaled again. */
  inFlight: object | undefined = undefined

  // Its end.
  /** The status of the answer; 499 when the caller left before its end, even if the head said 200. */
  status: number | undefined = undefined
  outcome: Outcome | undefined = undefined
  errorCode: string | undefined = undefined
  /** The message that the caller gets. */
  errorMessage: string | undefined = undefined
  /** The unexpected error or the provider's message, for the log only. */
  cause: unknown = undefined
  /**
   * Set if the answer is read on although the caller has left: resolves, and never rejects, when the record
   * is complete.
   */
  whenUsageKnown: Promise<void> | undefined = undefined
  /**
   * True if the answer of a call with a budget was abandoned before its end: the provider may continue, and
   * bill it.
   */
  answerGivenUp: boolean | undefined = undefined

  constructor (endpoint: string) {
    this.endpoint = endpoint
  }
}

/** The attribution of a call whose request has not been inspected yet: nothing is kept. */
export const unknownCaller: Attribution = {
  tags: undefined, endUser: undefined, session: undefined, metadata: undefined
}

/** On whose behalf a call is made. */
export type Attribution = Pick<CallRecord, 'tags' | 'endUser' | 'session' | 'metadata'>

/** On whose behalf a deferred call was made. */
export interface KeptAttribution extends Partial<Attribution> {
  /** True if `endUser` is a digest. Absent, as in earlier versions: unknown. */
  readonly hashed?: boolean | undefined
}

/** Returns the attribution of a call, for another call that does its work. */
export function attributionIn (
  { tags, endUser, session, metadata, digestEndUser }: CallRecord
): KeptAttribution {
  const hashed = digestEndUser !== undefined
  return { tags, endUser, session, metadata, ...endUser !== undefined && { hashed } }
}

/** The form of digests by `stores/end-user-digests`. */
const digestForm = /^[\w-]{22}$/

/**
 * Returns the end user of a call admitted earlier, for the record of the call that does its work: a digest,
 * even if names were still stored as given at that time.
 */
export function keptEndUser (
  { endUser, hashed }: KeptAttribution,
  { digestEndUser }: CallRecord
): string | undefined {
  if (endUser === undefined || (hashed ?? digestForm.test(endUser))) return endUser
  return digestEndUser?.(endUser) ?? endUser
}

/** Records the reported usage of one answer, added to the usage of `earlier` turns of the call. */
export function noteUsage (record: CallRecord, reported: Usage, earlier: Usage | undefined): void {
  const usage = withinWholes(reported)
  record.usage = earlier === undefined ? usage : addUsage(earlier, usage) ?? usage
  const { answerUsages } = record
  const others = answerUsages.at(-1)?.earlier === earlier ? answerUsages.slice(0, -1) : answerUsages
  record.answerUsages = [...others, { earlier, usage }]
  record.usageEstimated = record.turnsEstimated === true
  record.openTurn = undefined
}

/**
 * Begins a turn of a tool loop: until the turn reports its usage, the recorded usage is incomplete.
 */
export function beginTurn (record: CallRecord, countPrompt: () => number): void {
  record.openTurn = { attempts: record.attempts, outputCharacters: record.outputCharacters ?? 0, countPrompt }
  record.reported = undefined
  if (record.usage !== undefined) record.usageEstimated = true
}

/** Ends a turn. The usage is estimated if the provider did not report it. */
export function endTurn (record: CallRecord, reported: boolean): void {
  const { openTurn } = record
  if (reported || openTurn === undefined) return
  record.turnsEstimated = true
  noteUsage(record, estimatedTurn(openTurn, record), record.usage)
}

/** Estimates the usage of the open turn so far. */
export function estimatedTurn (
  { countPrompt, outputCharacters: before }: OpenTurn,
  { outputCharacters = 0, reported = reportedBy(undefined) }: CallRecord
): Usage {
  return estimatedAnswer(reported, countPrompt(), outputCharacters - before)
}

/** Adds to the length of an answer's text, for an estimate if the answer ends without usage. */
export function noteOutput (record: CallRecord, characters: number): void {
  if (characters > 0) record.outputCharacters = (record.outputCharacters ?? 0) + characters
}

/** Outcomes of errors that the caller caused. */
const outcomes: { readonly [code in ErrorCode]?: Outcome } = {
  client_closed_request: 'client_closed',
  client_too_slow: 'client_too_slow'
}

/** Records how a call failed, and returns the outcome. The first error wins. */
export function noteError (record: CallRecord, error: unknown): Outcome {
  if (record.outcome !== undefined) return record.outcome
  const failure = asGatewayError(error)
  record.errorCode = failure.code
  record.errorMessage = failure.message
  record.cause = failure.cause
  record.outcome = outcomes[failure.code] ?? 'error'
  return record.outcome
}

/** Returns true for a call with several routes, or with a route that failed or was skipped. */
export function hadSeveralRoutes ({ routes, failedAttempts }: CallRecord): boolean {
  return failedAttempts !== undefined || (routes !== undefined && routes.length > 1)
}

/** Returns the size of a request, including the stored responses that it continues. */
export function requestBytes ({
  bodyBytes,
  storedInputBytes
}: Pick<CallRecord, 'bodyBytes' | 'storedInputBytes'>): number {
  return bodyBytes + storedInputBytes
}

/**
 * Each step of a larger request runs in its own turn of the event loop. Checking, translating and printing
 * 60,000 values take 10 to 30 ms each, the first time.
 */
export const sliceBytes = 256 * 1024

/** Returns true for a request so large that each step of it runs in its own turn of the event loop. */
export function needsSlices (record: Pick<CallRecord, 'bodyBytes' | 'storedInputBytes'>): boolean {
  return requestBytes(record) > sliceBytes
}

/** Copying 60 MB takes 50 ms, and searching them 100 ms. */
const largeRequestBytes = 1024 * 1024

/** Returns true for a request that is printed in slices, and whose text is not kept. */
export function isLargeRequest (record: Pick<CallRecord, 'bodyBytes' | 'storedInputBytes'>): boolean {
  return requestBytes(record) >= largeRequestBytes
}

/** Maximum characters of a name in rows and log lines. */
export const maxNameLength = 256

/** Truncates a name from a caller or a server: nothing else limits its size in rows and log lines. */
export function cutName (name: string): string {
  return name.length > maxNameLength ? name.slice(0, maxNameLength) : name
}

const maxIgnoredFields = 20
const maxIgnoredName = 64

/** Records a field of the request that had no effect, once. */
export function noteIgnored (record: Partial<Pick<CallRecord, 'ignoredFields'>>, name: string): void {
  const ignored = record.ignoredFields ??= []
  const shown = name.slice(0, maxIgnoredName)
  if (ignored.length < maxIgnoredFields && !ignored.includes(shown)) ignored.push(shown)
}
