/**
 * The facts of one call: filled by the stages as they learn them, read by the log line, the usage ledger,
 * metrics, spans and headers of the reply. It has no credentials, and bodies only if the project keeps them.
 * `target` and `placeholders` may hold secrets and are never printed as they are.
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
  /** The code of an error, or what spoke against calling it. */
  readonly reason: string
}

/** A request to a provider. Times are by `performance.now()`. */
export interface SentRequest {
  readonly route: Route
  readonly startedAtMs: number
  /** The time of its first visible output or of its failure; absent while it waits. */
  endedAtMs: number | undefined
  /** The time at which its answer was read to its end or given up; absent where it gave none. */
  completedAtMs: number | undefined
  /** The reason why its answer was not used. */
  reason: string | undefined
  /** HTTP status of a refusal. */
  status: number | undefined
  /** Absent where the call has no trace. */
  readonly span?: ChildSpan | undefined
}

/** A request of the tools of a server. Times are by `performance.now()`. */
export interface ToolListing {
  readonly serverName: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** `ok`, or the step that failed: `connect_failed`. */
  readonly outcome: 'ok' | `${string}_failed`
  /** Absent where the call has no trace. */
  readonly span: ChildSpan | undefined
}

/** A call of a tool of a server. Times are by `performance.now()`. */
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
 * A request that a provider bills although its answer was not used. Without `usage` it is estimated by the
 * request of the call.
 */
export interface WastedRequest {
  readonly modelId: string
  readonly usage?: Usage | undefined
}

/** A request of a stage to a model, which is billed with the call. */
export interface JudgedRequest {
  readonly modelId: string
  readonly usage: Usage
  readonly estimated: boolean
  /** The most that it can use, while it is open. */
  readonly mostUsage?: Usage
}

/** Estimates what a request uses: for what is reserved, and for usage that its provider has not reported. */
export interface RecordedEstimate {
  /** Counts the tokens of the request. */
  readonly countPrompt: () => number | undefined
  /**
   * Guesses the tokens of an answer of which nothing is known: what was reserved, unless the caller allows
   * far more than is usual.
   */
  readonly countAnswer: () => number
  /** Estimates what the request uses, where that follows from it and is not text. */
  readonly estimateUnits: () => EstimatedUnits | undefined
}

/** The state of a record when a turn began. */
export interface OpenTurn {
  readonly attempts: number
  readonly outputCharacters: number
  readonly countPrompt: () => number
}

/** A budget that is used up and refuses nothing. */
export interface ExceededBudget {
  /** Its party, as counters name it. */
  readonly party: string
  /** In words: `$20 a month`. */
  readonly budget: string
  /** The end of its window, in Unix milliseconds. */
  readonly endMs: number
}

/**
 * Every field is set from the start, so that all records have one shape: fields added later made each
 * function that reads records megamorphic.
 */
export class CallRecord {
  // The call.
  readonly endpoint: string
  /** Method and path of a request that came by an alias, or that no endpoint serves. */
  requestLine: string | undefined = undefined
  /** Fields of the request that had no effect, as `x-headgate-ignored` lists them. */
  ignoredFields: string[] | undefined = undefined
  /** The limit of the answer, where the request allowed more than its model or its budget does. */
  maxTokens: number | undefined = undefined
  keyId: string | undefined = undefined
  keyName: string | undefined = undefined
  /** Absent for a key that is in no other project than the default one. */
  projectName: string | undefined = undefined
  /** The key that was refused, as far as it may be logged. */
  refusedKey: string | undefined = undefined
  /** The method of its request; absent for a call that no request made. */
  method: string | undefined = undefined
  /** The path of its endpoint, with the names of its parameters. */
  path: string | undefined = undefined
  /** Path and query as the caller wrote them; a query may hold secrets. */
  target: string | undefined = undefined
  /** True where its connection is one of TLS. */
  encrypted = false
  /** Its place in a distributed trace; absent where no traces are sent. */
  trace: CallTrace | undefined = undefined
  /** The other end of the connection. */
  remoteAddress: string | undefined = undefined
  /** As the caller wrote it. */
  requestedModel: string | undefined = undefined
  /** Labels to find calls and sum up cost by: those of the key and its project first, then the caller's. */
  tags: readonly string[] | undefined = undefined
  /** The user of the caller's application, as the caller names them or as `digestEndUser` has it. */
  endUser: string | undefined = undefined
  /** Returns what is kept in place of a name of an end user; absent where names are kept. */
  digestEndUser: ((name: string) => string) | undefined = undefined
  /** The session that the call belongs to, as the caller names it. */
  session: string | undefined = undefined
  /** Parties beside its key, project and member whose budgets it counts in. */
  parties: readonly string[] | undefined = undefined
  /** Soft budgets that were used up when it was admitted. */
  exceededBudgets: readonly ExceededBudget[] | undefined = undefined
  /** True where it was admitted without what the store says of the spending of its end user. */
  budgetUnread: boolean | undefined = undefined
  /** Pairs of texts that the caller sent, and `unsentMetadata` as JSON. */
  metadata: Readonly<Record<string, string>> | undefined = undefined
  /** True where values of `metadata` need not be strings. */
  acceptsAnyMetadata = false
  /** The values that are not strings, which were taken out of the request. */
  unsentMetadata: Readonly<Record<string, unknown>> | undefined = undefined
  /** Size of a JSON body, after decompression. */
  bodyBytes = 0
  /** Memory of what the request takes from stored responses. */
  storedInputBytes = 0
  streamed: boolean | undefined = undefined
  /** True when the caller brought a key of their own to the provider, who bills them. */
  callerProviderKey: boolean | undefined = undefined
  /** True for a call that only requested which routes it would take. */
  dryRun: boolean | undefined = undefined
  /** True when the answer itself comes with another call: this one got a receipt, or 202 for not yet. */
  deferred: boolean | undefined = undefined

  // Its routes.
  /** The gateway id of the model that succeeded (or was last tried). */
  modelId: string | undefined = undefined
  providerId: string | undefined = undefined
  upstreamRequestId: string | undefined = undefined
  /** The limits of the caller's own key at the provider, in the headers of a dialect that both speak. */
  upstreamLimits: Readonly<Record<string, string>> | undefined = undefined
  /** Best first, without those that were skipped. */
  routes: readonly Route[] | undefined = undefined
  /** The one that succeeded. */
  chosen: Route | undefined = undefined
  /** Requests made to providers, retries and fallbacks included. */
  attempts = 0
  /** Size of a complete answer of a provider in JSON. */
  answerBytes = 0
  /** Further attempts at a model that had just failed. */
  retries: number | undefined = undefined
  /** Requests that were started because another one was slow. */
  hedges: number | undefined = undefined
  /** Turns of a tool loop that were begun. */
  turns: number | undefined = undefined
  /** The reasons why other routes were passed over: one entry per failed attempt. */
  failedAttempts: FailedAttempt[] | undefined = undefined
  /** Requests to providers, in the order in which they were sent. */
  requests: SentRequest[] | undefined = undefined
  /** Calls of tools, in the order in which they ended. */
  toolRuns: ToolRun[] | undefined = undefined
  /** Tool servers that it asked for their tools, or failed to reach. */
  toolListings: ToolListing[] | undefined = undefined

  /** The result of the lookup in the cache of answers; absent where there is no cache. */
  cache: 'hit' | 'miss' | 'bypass' | undefined = undefined

  // Times.
  /** The time of `performance.now()` at which its key was found valid. */
  keyCheckedAtMs: number | undefined = undefined
  /**
   * Milliseconds spent waiting for others until the head of the answer: providers, pauses between attempts,
   * tool servers.
   */
  upstreamWaitMs = 0
  /** Milliseconds of the gateway's own until the head of the answer. */
  overheadMs: number | undefined = undefined
  /** Milliseconds from acceptance to the first output of a streamed answer; of no other answer. */
  firstByteMs: number | undefined = undefined

  /** True until stages have inspected its request: until then nothing of it is kept. */
  awaitsInspection = false
  /** The stages that look at its texts, for its caller. */
  stages: readonly string[] | undefined = undefined
  /** What stages found in its texts. */
  findings: GuardFindings | undefined = undefined
  /** The values in whose place its texts have placeholders, for its caller alone: nothing prints them. */
  placeholders: Placeholders | undefined = undefined

  /** Ids of the tool calls in the answer. */
  toolCallIds: string[] | undefined = undefined

  // What it used (`stages/record-usage`).
  usage: Usage | undefined = undefined
  /** True when `usage` is not all that the provider reported: a guess of the gateway, or a part. */
  usageEstimated: boolean | undefined = undefined
  /**
   * The usage of each answer that `usage` adds up. Each is priced separately, since long prompts have other
   * prices. `earlier` is the usage of the call before that answer; a later report with the same `earlier`
   * replaces it.
   */
  answerUsages: ReadonlyArray<{ readonly earlier: Usage | undefined, readonly usage: Usage }> = []
  /** Estimates what the call uses, for one whose provider does not say. */
  estimate: RecordedEstimate | undefined = undefined
  /** Requests that a provider has done and will bill, although their answer could not be used. */
  wasted: WastedRequest[] | undefined = undefined
  /** Requests of stages to models. */
  judged: JudgedRequest[] | undefined = undefined
  /** The present turn of a tool loop, after the first, until its provider has reported its usage. */
  openTurn: OpenTurn | undefined = undefined
  /** What was reported of the last answer, which counts where the end of it brought no usage. */
  reported: ReportedUsage | undefined = undefined
  /** True when a turn had to be estimated. */
  turnsEstimated: boolean | undefined = undefined
  /** Length of the answer's text so far: what an estimate is made of when no usage came. */
  outputCharacters: number | undefined = undefined
  /**
   * What it used in place of tokens: images that were made, with their size and quality as the provider or
   * the request says; pages that were read; seconds of a recording as the provider counted them; code points
   * of the text that was spoken.
   */
  units: Units | undefined = undefined

  // The limits that hold for it.
  /** What remains of them, as headers of the answer. */
  limitHeaders: Readonly<Record<string, string>> | undefined = undefined
  /** True where the project of its key is not to see costs. */
  hidesCost = false
  /**
   * What was left of the budget with the least left when the call was admitted, in billionths of a dollar.
   */
  budgetLeftNanoUsd: number | undefined = undefined
  /** What it costs, as headers of a complete answer. */
  costHeaders: Readonly<Record<string, string>> | undefined = undefined
  /** The id of its reservation, to be settled with what it used. */
  reservation: number | undefined = undefined
  /** The id that its usage row will have, where the reservation names it. */
  rowId: string | undefined = undefined
  /**
   * The most that the call may cost, in billionths of a dollar, where a budget with `strict` limits holds
   * for it.
   */
  maxCostNanoUsd: number | undefined = undefined
  /**
   * The amount reserved of its budgets, in billionths of a dollar; absent where no budget holds for it.
   */
  reservedNanoUsd: number | undefined = undefined
  /** The charge for a receipt until its answer is fetched. */
  chargedNanoUsd: number | undefined = undefined
  /** The charge for the receipt of a fetched answer, which the real cost replaces. */
  refundedNanoUsd: number | undefined = undefined
  /** The limit for which it was refused. */
  refusedBy: Refusal | undefined = undefined

  /** Notes its bodies, where its project keeps them or its spans have them. */
  bodies: BodyCapture | undefined = undefined

  // Kept by `limits/usage-recorder`.
  /**
   * The entry of its row in the journal. Not in a `WeakMap`, whose entries the collector visits at every
   * scavenge.
   */
  journaled: object | undefined = undefined
  /** The wait until it is journaled again. */
  inFlight: object | undefined = undefined

  // Its end.
  /** The status of the answer; 499 when the caller left before its end, even if the head said 200. */
  status: number | undefined = undefined
  outcome: Outcome | undefined = undefined
  errorCode: string | undefined = undefined
  /** As the caller reads it. */
  errorMessage: string | undefined = undefined
  /** The unexpected error or the upstream's words, for the log only. */
  cause: unknown = undefined
  /**
   * Set when the answer is read on although the caller has left: resolves, and never rejects, when
   * the record is complete.
   */
  whenUsageKnown: Promise<void> | undefined = undefined
  /**
   * True for an answer of a call with a budget that was given up before its end: its provider may go on, and
   * bill it.
   */
  answerGivenUp: boolean | undefined = undefined

  constructor (endpoint: string) {
    this.endpoint = endpoint
  }
}

/** The attribution of a call whose request no stage has inspected yet: none of it is kept. */
export const unknownCaller: Attribution = {
  tags: undefined, endUser: undefined, session: undefined, metadata: undefined
}

/** Says whom a call is made for. */
export type Attribution = Pick<CallRecord, 'tags' | 'endUser' | 'session' | 'metadata'>

/** Says whom a call was made for whose work is done later. */
export interface KeptAttribution extends Partial<Attribution> {
  /** True where `endUser` is a digest. Absent, as earlier versions left it: unknown. */
  readonly hashed?: boolean | undefined
}

/** Returns whom a call is made for, for another call that does its work. */
export function attributionIn (
  { tags, endUser, session, metadata, digestEndUser }: CallRecord
): KeptAttribution {
  const hashed = digestEndUser !== undefined
  return { tags, endUser, session, metadata, ...endUser !== undefined && { hashed } }
}

/** The form of the digests that `stores/end-user-digests` makes. */
const digestForm = /^[\w-]{22}$/

/**
 * Returns the end user of a call that was admitted before, as the record of the one that does its work has
 * it: a digest also where names were still kept as given.
 */
export function keptEndUser (
  { endUser, hashed }: KeptAttribution,
  { digestEndUser }: CallRecord
): string | undefined {
  if (endUser === undefined || (hashed ?? digestForm.test(endUser))) return endUser
  return digestEndUser?.(endUser) ?? endUser
}

/** Notes what one answer used, as its provider reports it, on top of what `earlier` turns of the call did. */
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
 * Notes that a turn of a tool loop begins: until it reports its usage, the recorded usage is incomplete.
 */
export function beginTurn (record: CallRecord, countPrompt: () => number): void {
  record.openTurn = { attempts: record.attempts, outputCharacters: record.outputCharacters ?? 0, countPrompt }
  record.reported = undefined
  if (record.usage !== undefined) record.usageEstimated = true
}

/** Ends a turn; of one whose provider did not report its usage, that is estimated. */
export function endTurn (record: CallRecord, reported: boolean): void {
  const { openTurn } = record
  if (reported || openTurn === undefined) return
  record.turnsEstimated = true
  noteUsage(record, estimatedTurn(openTurn, record), record.usage)
}

/** Estimates what the open turn has used so far. */
export function estimatedTurn (
  { countPrompt, outputCharacters: before }: OpenTurn,
  { outputCharacters = 0, reported = reportedBy(undefined) }: CallRecord
): Usage {
  return estimatedAnswer(reported, countPrompt(), outputCharacters - before)
}

/** Notes the length of an answer's text as it grows, for one that is cut short without usage. */
export function noteOutput (record: CallRecord, characters: number): void {
  if (characters > 0) record.outputCharacters = (record.outputCharacters ?? 0) + characters
}

/** The outcomes of calls that end by their caller. */
const outcomes: { readonly [code in ErrorCode]?: Outcome } = {
  client_closed_request: 'client_closed',
  client_too_slow: 'client_too_slow'
}

/** Notes how a call failed, and returns the outcome that makes it. The first note stays. */
export function noteError (record: CallRecord, error: unknown): Outcome {
  if (record.outcome !== undefined) return record.outcome
  const failure = asGatewayError(error)
  record.errorCode = failure.code
  record.errorMessage = failure.message
  record.cause = failure.cause
  record.outcome = outcomes[failure.code] ?? 'error'
  return record.outcome
}

/** Returns true for a call that had several routes, or of which one failed or was skipped. */
export function hadChoice ({ routes, failedAttempts }: CallRecord): boolean {
  return failedAttempts !== undefined || (routes !== undefined && routes.length > 1)
}

/** Returns the size of a request, with what it takes from stored responses. */
export function requestBytes ({
  bodyBytes,
  storedInputBytes
}: Pick<CallRecord, 'bodyBytes' | 'storedInputBytes'>): number {
  return bodyBytes + storedInputBytes
}

/**
 * Each step of a larger request runs in its own turn of the event loop. Checking, translating and printing
 * one of 60,000 values take 10 to 30 ms each, the first time.
 */
export const sliceBytes = 256 * 1024

/** Returns true for a request so large that each step of it runs in its own turn of the event loop. */
export function needsSlices (record: Pick<CallRecord, 'bodyBytes' | 'storedInputBytes'>): boolean {
  return requestBytes(record) > sliceBytes
}

/** Copying 60 MB takes 50 ms, and looking through them 100. */
const largeRequestBytes = 1024 * 1024

/** Returns true for a request that is printed in slices, and whose text is not kept. */
export function isLargeRequest (record: Pick<CallRecord, 'bodyBytes' | 'storedInputBytes'>): boolean {
  return requestBytes(record) >= largeRequestBytes
}

/** Characters that rows and log lines keep of a name. */
export const maxNameLength = 256

/** Cuts a name that a caller or a server has chosen: nothing else bounds what it adds to rows and lines. */
export function cutName (name: string): string {
  return name.length > maxNameLength ? name.slice(0, maxNameLength) : name
}

const maxIgnoredFields = 20
const maxIgnoredName = 64

/** Notes a field of the request that had no effect, once. */
export function noteIgnored (record: Partial<Pick<CallRecord, 'ignoredFields'>>, name: string): void {
  const ignored = record.ignoredFields ??= []
  const shown = name.slice(0, maxIgnoredName)
  if (ignored.length < maxIgnoredFields && !ignored.includes(shown)) ignored.push(shown)
}
