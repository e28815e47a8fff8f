/** Budgets of requests beyond the first one of a call: after failures, and because an answer is slow. */

import type { GatewayError } from '../core/errors.ts'

/** Free attempts before any answer has earned one. */
const initialAttempts = 10
/** Maximum attempts that can be saved up. */
const maxAttempts = 200
/** Covers one attempt and one failure: a provider that succeeds half of the time pays for its retries. */
const earnedByAnswer = 3
/** Milliseconds without a failure or an extra attempt, after which one attempt is allowed in any case. */
const forgottenAfterMs = 60_000
/** How long a used-up quota is assumed to last, in milliseconds, unless the provider tells. */
const quotaMs = 60_000
/** Calls that earn one extra request. */
const callsPerExtraRequest = 20
/** Maximum extra requests that can be saved up. */
const maxExtraRequests = 10

/**
 * The budget of extra attempts at one provider: retries of the same model and fallbacks to its models.
 *
 * Answers earn attempts and failures lose them. So each failure of a mostly working provider can be retried,
 * and a provider that is down gets no extra requests. Retry-after information of the provider is kept here,
 * too.
 *
 * The gateway's own credential has one budget; a caller's own key has a separate one.
 */
export class RetryBudget {
  readonly #now: () => number
  #attemptsLeft = initialAttempts
  /** Answers since the last stale sockets; each may have left a connection open. */
  #reusableSockets = 0
  #attemptedAtMs: number
  #notBeforeMs = 0

  /** @param now returns monotonic milliseconds */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
    this.#attemptedAtMs = now()
  }

  /** Earns attempts; call it for every answer. */
  onAnswer (): void {
    this.#attemptsLeft = Math.min(maxAttempts, this.#attemptsLeft + earnedByAnswer)
    this.#reusableSockets = Math.min(maxAttempts, this.#reusableSockets + 1)
  }

  /**
   * Loses an attempt and records how long the provider asked to wait; call it for every failure.
   *
   * @param waits false if the wait applies to only one of several credentials
   */
  onFailure (
    { code, fault, retryAfterSeconds }: Pick<GatewayError, 'code' | 'fault' | 'retryAfterSeconds'>,
    waits = true
  ): void {
    this.#attemptedAtMs = this.#now()
    if (fault === 'transient' || fault === 'rate_limit') {
      this.#attemptsLeft = Math.max(0, this.#attemptsLeft - 1)
    }
    if (!waits) return
    const saidMs = (retryAfterSeconds ?? 0) * 1000
    const waitMs = saidMs === 0 && code === 'upstream_quota_exhausted' ? quotaMs : saidMs
    if (waitMs > 0) this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#now() + waitMs)
  }

  /** Spends one attempt; returns false if there is none. */
  take (): boolean {
    const nowMs = this.#now()
    if (nowMs - this.#attemptedAtMs > forgottenAfterMs) this.#attemptsLeft = Math.max(1, this.#attemptsLeft)
    if (this.#attemptsLeft < 1) return false
    this.#attemptedAtMs = nowMs
    this.#attemptsLeft--
    return true
  }

  /**
   * Returns true for a kept-alive connection that the server closed just as it was reused. This is not a
   * failure: a new connection can be tried immediately. Only as many count as answers have left open.
   */
  takeStaleSocket ({ staleConnection }: Pick<GatewayError, 'staleConnection'>): boolean {
    if (!staleConnection || this.#reusableSockets < 1) return false
    this.#reusableSockets--
    return true
  }

  /** Remaining milliseconds of the provider's rate limit. */
  get cooldownMs (): number {
    return this.#notBeforeMs === 0 ? 0 : Math.max(0, this.#notBeforeMs - this.#now())
  }
}

/**
 * The budget of hedges or of restarts of slow streams: one extra request for 20 calls on average. At most ten
 * can be saved up.
 */
export class ExtraRequestBudget {
  #saved = 1

  /** Counts a call. */
  onCall (): void {
    this.#saved = Math.min(maxExtraRequests, this.#saved + 1 / callsPerExtraRequest)
  }

  get isEmpty (): boolean {
    return this.#saved < 1
  }

  /** Spends one extra request; returns false if there is none. */
  take (): boolean {
    if (this.isEmpty) return false
    this.#saved--
    return true
  }
}
