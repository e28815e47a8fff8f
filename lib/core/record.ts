/**
 * The facts of one call, set as they become known. The log line, the usage ledger, metrics, spans and headers
 * of the reply are made of them, and later stages read a few, such as the reserved cost. They have no
 * credentials, and bodies only if the project keeps them. `request.target` and `guards.placeholders` may hold
 * secrets and are never printed unchanged.
 *
 * A search for `record.usage`, and so on, finds who sets a group. Work without a caller, such as a mirror or
 * a background response, has a record as well: `stages/mirror` and `deferred/` write the facts that a request
 * would have brought.
 */

import type { Attribution } from './call-attribution.ts'
import type { BodyCapture } from './body-capture.ts'
import type { CallTrace, ChildSpan } from './call-trace.ts'
import { asGatewayError, type ErrorCode } from './errors.ts'
import type { GuardFindings } from './guard-findings.ts'
import type { LimitRefusal } from './key.ts'
import type { ModelEntry } from './model.ts'
import type { Placeholders } from './placeholders.ts'
import type { Route } from './route.ts'
import { UsageFacts } from './usage-facts.ts'

/** What was asked, and how. */
export class RequestFacts {
  /** Method and path of a request to an alias, or to no known endpoint. */
  requestLine: string | undefined = undefined
  /** The HTTP method; absent for a call without an HTTP request. */
  method: string | undefined = undefined
  /** The path of its endpoint, with the names of its parameters. */
  path: string | undefined = undefined
  /** Path and query as the caller wrote them; a query may hold secrets. */
  target: string | undefined = undefined
  usesTls = false
  /** The other end of the connection. */
  remoteAddress: string | undefined = undefined
  /** As the caller wrote it. */
  requestedModel: string | undefined = undefined
  /** Size of a JSON body, after decompression. */
  bodyBytes = 0
  /** Memory of the stored responses that the request uses. */
  storedInputBytes = 0
  isStreamed: boolean | undefined = undefined
  /** Fields of the request that had no effect, as `x-headgate-ignored` lists them. */
  ignoredFields: string[] | undefined = undefined
  /** The limit of the answer, if the request allowed more than its model or its budget does. */
  maxTokens: number | undefined = undefined
  /** True for a call that only asks for its routes. */
  isDryRun: boolean | undefined = undefined
  /**
   * True if another call delivers the answer: this one got a receipt, or 202 because the answer was not
   * ready.
   */
  isDeferred: boolean | undefined = undefined
}

const maxIgnoredFields = 20
const maxIgnoredName = 64

/** Records a field of the request that had no effect, once. */
export function noteIgnored (request: Partial<Pick<RequestFacts, 'ignoredFields'>>, name: string): void {
  const ignored = request.ignoredFields ??= []
  const shown = name.slice(0, maxIgnoredName)
  if (ignored.length < maxIgnoredFields && !ignored.includes(shown)) ignored.push(shown)
}

/** On whose behalf a call is made. */
export class CallerFacts implements Attribution {
  keyId: string | undefined = undefined
  keyName: string | undefined = undefined
  /** Absent for a key in the default project. */
  projectName: string | undefined = undefined
  /** The refused key, as far as it may be logged. */
  refusedKey: string | undefined = undefined
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
  /** The caller's metadata as strings; values that are not strings are also in `unsentMetadata`. */
  metadata: Readonly<Record<string, string>> | undefined = undefined
  /** True if values of `metadata` need not be strings. */
  acceptsAnyMetadata = false
  /** Metadata values that are not strings; they were removed from the request. */
  unsentMetadata: Readonly<Record<string, unknown>> | undefined = undefined
  /** True if the caller sent their own key for the provider, who bills them. */
  usesOwnProviderKey: boolean | undefined = undefined
}

/** A route that was skipped, or whose attempt failed or lost to another one. */
export interface UnusedRoute {
  readonly route: Route
  /** An error code, or why the route was not called. */
  readonly reason: string
}

/** One attempt at a route. Times are from `performance.now()`. */
export interface RecordedAttempt {
  readonly route: Route
  readonly startedAtMs: number
  /** When the attempt succeeded with its first visible output, or failed; absent before that. */
  outcomeAtMs: number | undefined
  /** When the answer was read to its end, or closed before that; absent without an answer. */
  endedAtMs: number | undefined
  /** Why the answer was not used. */
  reason: string | undefined
  /** HTTP status of a refusal. */
  status: number | undefined
  /** Absent where the call has no trace. */
  readonly span?: ChildSpan | undefined
}

/** One of the requests that an attempt was split into. Times are from `performance.now()`. */
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
  readonly attemptSpan: ChildSpan
}

/** Where the call went. */
export class RoutingFacts {
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
  /**
   * Requests to providers. An attempt sends several if it is split, or is translated after a refusal. The
   * header, the row, the log and the span of a call show it as `attempts`.
   */
  requestCount = 0
  /** Attempts on which a provider may still be at work. Failed ones do not count, even if billed. */
  attemptsAtWork = 0
  /** Number of further attempts at a model that had just failed. */
  retries: number | undefined = undefined
  /** Number of requests started because another one was slow. */
  hedges: number | undefined = undefined
  /** Why other routes were not used: one entry per failed attempt or skipped route. */
  unusedRoutes: UnusedRoute[] | undefined = undefined
  /** In the order in which they began. */
  attempts: RecordedAttempt[] | undefined = undefined
  /** The parts of split requests; absent where the call has no trace. */
  sentParts: SentPart[] | undefined = undefined
  /** Size of the provider's complete JSON answer. */
  answerBytes = 0
  /** The result of the lookup in the cache of answers; absent where there is no cache. */
  cache: 'hit' | 'miss' | 'bypass' | undefined = undefined
}

/** Returns true for a call with several routes, or with one that failed or was skipped. */
export function hadChoiceOfRoutes ({ routes, unusedRoutes }: RoutingFacts): boolean {
  return unusedRoutes !== undefined || (routes !== undefined && routes.length > 1)
}

/** A request for the tool list of a server. Times are from `performance.now()`. */
export interface ToolListing {
  readonly serverName: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** `ok`, or the step that failed: `connect_failed`. */
  readonly outcome: 'ok' | `${string}_failed`
  /** Absent where the call has no trace. */
  readonly span: ChildSpan | undefined
}

/** A call to a server's tool. Times are from `performance.now()`. */
export interface ToolRun {
  readonly serverName: string
  readonly toolName: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly outcome: 'ok' | 'tool_error' | 'server_failed' | 'not_run' | 'cancelled'
  /** Absent where the call has no trace. */
  readonly span?: ChildSpan | undefined
}

/** The tool loop of a call, and the tool calls in its answer. */
export class ToolFacts {
  /** Number of started turns. */
  turns: number | undefined = undefined
  /** Tool calls, in order of their end. */
  runs: ToolRun[] | undefined = undefined
  /** Requests for the tools of servers, including failed ones. */
  listings: ToolListing[] | undefined = undefined
  /** Ids of the tool calls in the answer. */
  callIds: string[] | undefined = undefined
}

/** Records a tool call of the answer; some providers give it no id. */
export function noteToolCall (tools: Pick<ToolFacts, 'callIds'>, id: string): void {
  if (id !== '') (tools.callIds ??= []).push(id)
}

/** What guards do with the texts of a call. */
export class GuardFacts {
  /** True until guards have inspected the request; nothing of the request is kept before. */
  awaitsInspection = false
  /** The guards that inspect the texts, as reported to the caller. */
  names: readonly string[] | undefined = undefined
  /** What guards found in the texts. */
  findings: GuardFindings | undefined = undefined
  /** The values behind the placeholders in the texts. Only the caller gets them; never printed. */
  placeholders: Placeholders | undefined = undefined
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

/** The limits that hold for a call. */
export class LimitFacts {
  /** What remains of the limits, as headers of the reply. */
  headers: Readonly<Record<string, string>> | undefined = undefined
  /** The id of the reservation, to be settled with the actual usage. */
  reservation: number | undefined = undefined
  /** The id of the future usage row, if the reservation names it. */
  rowId: string | undefined = undefined
  /** Soft budgets that were used up when the call was admitted. */
  exceededBudgets: readonly ExceededBudget[] | undefined = undefined
  /** True if the call was admitted without reading its end user's spending from the store. */
  isSpendingUnknown: boolean | undefined = undefined
  /** The smallest remaining budget when the call was admitted, in billionths of a dollar. */
  budgetLeftNanoUsd: number | undefined = undefined
  refusedBy: LimitRefusal | undefined = undefined
}

/** Finds a model, and so its price, by its full id. */
export interface PricedModels { readonly find: (id: string) => ModelEntry | undefined }

/** Amounts of money around a call, in billionths of a dollar. Its cost is in its usage row. */
export class CostFacts {
  /** True if the key's project must not see costs. */
  isHidden = false
  /** The cost, as headers of a complete answer. */
  headers: Readonly<Record<string, string>> | undefined = undefined
  /** Finds the models, with their prices, of the configuration that admitted the call. */
  models: PricedModels | undefined = undefined
  /** Maximum cost of the call, if a budget with `strict` limits applies. */
  maxCostNanoUsd: number | undefined = undefined
  /** The amount reserved from budgets; absent if no budget applies. */
  reservedNanoUsd: number | undefined = undefined
  /** The charge for a receipt until its answer is fetched. */
  chargedNanoUsd: number | undefined = undefined
  /** The part of that charge which the answer replaces: all but guards and failed attempts. */
  replaceableNanoUsd: number | undefined = undefined
  /** The charge for the receipt of a fetched answer, which the real cost replaces. */
  refundedNanoUsd: number | undefined = undefined
  /** The charge for the receipt of a fetched answer of unknown usage, which costs that and no more. */
  paidNanoUsd: number | undefined = undefined
}

/** Times of a call, in milliseconds. */
export class TimeFacts {
  /** `performance.now()` when the key was found valid. */
  keyCheckedAtMs: number | undefined = undefined
  /**
   * Milliseconds spent waiting for others: providers, pauses between attempts, tool servers, the cache of
   * answers. `overheadMs` excludes what had been spent when the head of the reply was sent.
   */
  upstreamWaitMs = 0
  /** Milliseconds that the gateway itself took until the head of the reply. */
  overheadMs: number | undefined = undefined
  /** Milliseconds from the arrival of the request to the first output; streams only. */
  firstByteMs: number | undefined = undefined
  /** `performance.now()` when the caller stopped reading; absent while it reads. */
  unreadSinceMs: number | undefined = undefined
}

/** How a call ended. A disconnect is an outcome, not an error. */
export type Outcome = 'ok' | 'error' | 'client_closed' | 'client_too_slow'

export class EndFacts {
  /** The status of the reply; 499 when the caller left before its end, even if the head said 200. */
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
   * True if an answer that should have been read to its end was cut off, since the call has a budget or the
   * provider has `on_disconnect: drain`: the provider may continue, and bill it.
   */
  isAnswerCutOff: boolean | undefined = undefined
  /** Called once the call is recorded: starts its mirror. */
  onRecorded: (() => void) | undefined = undefined
}

/** Outcomes of calls whose caller left or stopped reading. */
const outcomes: { readonly [code in ErrorCode]?: Outcome } = {
  client_closed_request: 'client_closed',
  client_too_slow: 'client_too_slow'
}

/** Records how a call failed, and returns the outcome. The first error wins. */
export function noteError (end: EndFacts, error: unknown): Outcome {
  if (end.outcome !== undefined) return end.outcome
  const failure = asGatewayError(error)
  end.errorCode = failure.code
  end.errorMessage = failure.message
  end.cause = failure.cause
  end.outcome = outcomes[failure.code] ?? 'error'
  return end.outcome
}

/**
 * The facts of one call, in groups. Every group and every field is set from the start, so that all records
 * have one shape: fields added later made every function that reads records megamorphic.
 */
export class CallRecord {
  readonly endpoint: string
  readonly request = new RequestFacts()
  readonly caller = new CallerFacts()
  readonly routing = new RoutingFacts()
  readonly tools = new ToolFacts()
  readonly guards = new GuardFacts()
  readonly usage = new UsageFacts()
  readonly limits = new LimitFacts()
  readonly cost = new CostFacts()
  readonly times = new TimeFacts()
  readonly end = new EndFacts()
  /** Its place in a distributed trace; absent where no traces are sent. */
  trace: CallTrace | undefined = undefined
  /** Captures the bodies, if the project or the spans keep them. */
  bodies: BodyCapture | undefined = undefined

  // Kept by `gateway/usage-recorder`.
  /**
   * The journal entry of the row. Not in a `WeakMap`, whose entries the garbage collector visits at every
   * scavenge.
   */
  journaled: object | undefined = undefined
  /** The timer of the next journal entry while the call is in flight; `stop` has no effect after its end. */
  rejournalTimer: { readonly stop: () => void } | undefined = undefined

  constructor (endpoint: string) {
    this.endpoint = endpoint
  }
}

/** Maximum characters of a name in rows and log lines. */
export const maxNameLength = 256

/** Truncates a name from a caller or a server: nothing else limits its size in rows and log lines. */
export function cutName (name: string): string {
  return name.length > maxNameLength ? name.slice(0, maxNameLength) : name
}
