/**
 * The facts of one call: set as they become known (`lib/README.md` lists where), read by the log line, the
 * usage ledger, metrics, spans and headers of the reply. They have no credentials, and bodies only if the
 * project keeps them. `request.target` and `guards.placeholders` may hold secrets and are never printed
 * unchanged.
 */

import type { BodyCapture } from './body-capture.ts'
import type { CallTrace, ChildSpan } from './call-trace.ts'
import { CallerFacts } from './caller-facts.ts'
import { asGatewayError, type ErrorCode } from './errors.ts'
import type { GuardFindings } from './guard-findings.ts'
import type { Refusal } from './key.ts'
import type { Placeholders } from './placeholders.ts'
import { RequestFacts } from './request-facts.ts'
import { RoutingFacts } from './routing-facts.ts'
import { UsageFacts } from './usage-facts.ts'

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
  /** What remains of the limits, as headers of the answer. */
  headers: Readonly<Record<string, string>> | undefined = undefined
  /** The id of the reservation, to be settled with the actual usage. */
  reservation: number | undefined = undefined
  /** The id of the future usage row, if the reservation names it. */
  rowId: string | undefined = undefined
  /** Soft budgets that were used up when the call was admitted. */
  exceededBudgets: readonly ExceededBudget[] | undefined = undefined
  /** True if the call was admitted without reading its end user's spending from the store. */
  isBudgetUnread: boolean | undefined = undefined
  /** The smallest remaining budget when the call was admitted, in billionths of a dollar. */
  budgetLeftNanoUsd: number | undefined = undefined
  /** The limit that refused the call. */
  refusedBy: Refusal | undefined = undefined
}

/** Amounts of money around a call, in billionths of a dollar. Its cost is in its usage row. */
export class CostFacts {
  /** True if the key's project must not see costs. */
  isHidden = false
  /** The cost, as headers of a complete answer. */
  headers: Readonly<Record<string, string>> | undefined = undefined
  /** Maximum cost of the call, in billionths of a dollar, if a budget with `strict` limits applies. */
  maxCostNanoUsd: number | undefined = undefined
  /** The amount reserved from budgets, in billionths of a dollar; absent if no budget applies. */
  reservedNanoUsd: number | undefined = undefined
  /** The charge for a receipt until its answer is fetched. */
  chargedNanoUsd: number | undefined = undefined
  /** The charge for the receipt of a fetched answer, which the real cost replaces. */
  refundedNanoUsd: number | undefined = undefined
}

/** Times of a call, in milliseconds. */
export class TimeFacts {
  /** `performance.now()` when the key was found valid. */
  keyCheckedAtMs: number | undefined = undefined
  /**
   * Milliseconds spent waiting for others: providers, pauses between attempts, tool servers, the cache of
   * answers. `overheadMs` excludes what had been spent when the head of the answer was sent.
   */
  upstreamWaitMs = 0
  /** Milliseconds that the gateway itself took until the head of the answer. */
  overheadMs: number | undefined = undefined
  /** Milliseconds from the arrival of the request to the first output; streams only. */
  firstByteMs: number | undefined = undefined
}

/** How a call ended. A disconnect is an outcome, not an error. */
export type Outcome = 'ok' | 'error' | 'client_closed' | 'client_too_slow'

/** The end of a call. */
export class EndFacts {
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
   * True if an answer that should have been read to its end was cut off, since the call has a budget or the
   * provider has `on_disconnect: drain`: the provider may continue, and bill it.
   */
  isAnswerCutOff: boolean | undefined = undefined
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

  // Kept by `limits/usage-recorder`.
  /**
   * The journal entry of the row. Not in a `WeakMap`, whose entries the garbage collector visits at every
   * scavenge.
   */
  journaled: object | undefined = undefined
  /** The wait until the call is journaled again; set for good once its first request is sent. */
  inFlight: { readonly stop: () => void } | undefined = undefined

  constructor (endpoint: string) {
    this.endpoint = endpoint
  }
}
