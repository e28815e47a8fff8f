/**
 * What happened to one call: filled by the stages as they learn it, read once at the end by the
 * log line and the usage ledger. No bodies, no secrets.
 */

import { asGatewayError } from './errors.ts'
import type { Route } from './route.ts'
import type { Usage } from './usage.ts'
import type { Limit } from './key.ts'

/** How a call ended. A caller who left is an outcome of its own, never an error. */
export type Outcome = 'ok' | 'error' | 'client_closed'

/** A route that was asked in vain, or passed over. */
export interface FailedAttempt {
  readonly route: Route
  /** The code of an error, or what spoke against asking. */
  readonly why: string
}

export interface CallRecord {
  readonly endpoint: string
  /** Method and path of a request that no endpoint serves. */
  unrouted?: string
  keyId?: string
  /** As the caller wrote it. */
  requestedModel?: string
  /** The gateway id of the model that answered (or was last tried). */
  modelId?: string
  providerId?: string
  streamed?: boolean
  /** True when the caller brought a key of their own to the provider, who bills them. */
  ownProviderKey?: boolean
  /** Requests made to providers, retries and fallbacks included. */
  attempts: number
  /** Turns of a tool loop that were begun. */
  turns?: number
  /** Further attempts at a model that had just failed. */
  retries?: number
  /** Why other routes were passed over: one entry per failed attempt. */
  failedAttempts?: FailedAttempt[]
  /** The routes of the call, best first, and the one that answered. */
  routes?: readonly Route[]
  chosen?: Route
  /** True for a call that only asked which routes it would take. */
  dryRun?: boolean
  upstreamRequestId?: string
  /** Milliseconds spent waiting for others until the head of the answer: providers and tool servers. */
  upstreamWaitMs: number
  /** Milliseconds of the gateway's own until the head of the answer. */
  overheadMs?: number
  /** Milliseconds from acceptance to the first byte of the answer. */
  firstByteMs?: number
  usage?: Usage
  /** True when `usage` is not all that the provider reported: a guess of the gateway, or a part. */
  usageEstimated?: boolean
  /** Pages of a document that were read: what OCR is billed by. */
  pages?: number
  /** Length of the answer's text so far: what an estimate is made of when no usage came. */
  outputCharacters?: number
  /** True when the answer itself comes with another call: this one got a receipt, or was told to wait. */
  deferred?: boolean
  /** Counts what was asked, for an estimate: called at the end, and only when no usage came. */
  countPrompt?: () => number
  /** Images that were made. */
  images?: number
  /** Length of the sound that was listened to, as the provider counted it. */
  audioSeconds?: number
  /** Length of the text that was spoken: what speech is paid by. */
  spokenCharacters?: number
  /** What of a key's limits is left: headers of the answer. */
  limitHeaders?: Readonly<Record<string, string>>
  /** What was set aside for this call, to be settled with what it used. */
  reservation?: number
  /** The limit of its key for which a call was refused. */
  refusedBy?: Limit
  /** Of the answer; 499 when the caller had left before its end, whatever the head had said. */
  status?: number
  errorCode?: string
  /** The unexpected error or the upstream's words, for the log only. */
  cause?: unknown
  outcome?: Outcome
  /**
   * Set when the answer is read on although the caller has left: resolves, and never rejects, when
   * the record is complete.
   */
  settled?: Promise<void>
}

/** Notes how a call failed, and returns the outcome that makes it. The first note stays. */
export function noteError (record: CallRecord, error: unknown): Outcome {
  if (record.outcome !== undefined) return record.outcome
  const failure = asGatewayError(error)
  record.errorCode = failure.code
  record.cause = failure.cause
  record.outcome = failure.code === 'client_closed_request' ? 'client_closed' : 'error'
  return record.outcome
}

export function createCallRecord (endpoint: string): CallRecord {
  return { endpoint, attempts: 0, upstreamWaitMs: 0 }
}
