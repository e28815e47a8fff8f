/**
 * The attempts beyond the first of each call that one provider may get: retries at the same
 * model and fallbacks to one of its models alike.
 *
 * Answers earn them and failures lose them, so there is one for every failure of a provider that works
 * more often than not, and none for one that is down: it gets no extra requests.
 * What a provider says about waiting is remembered with it.
 *
 * One budget is kept for the gateway's own credential; a caller with a key of their own has another.
 */

import type { GatewayError } from '../core/errors.ts'

/** Attempts that are free, before any answer has earned one. */
const initialAttempts = 10
/** A provider that worked until now gets no more than this many at once. */
const maxAttempts = 200
/** With one for the attempt and one for a failure: what succeeds half of the time pays for itself. */
const earnedByAnswer = 3
/** A provider that was not called for so long may be tried again, however it was before. */
const forgottenAfterMs = 60_000
/** The time for which a used-up quota is expected to stay so, where the provider does not say. */
const quotaMs = 60_000

/** Knows the state of one credential at one provider. */
export class RetryBudget {
  readonly #now: () => number
  #attemptsLeft = initialAttempts
  /** Answers since the last stale sockets, each of which may have left a connection open. */
  #reusableSockets = 0
  #attemptedAtMs: number
  #notBeforeMs = 0

  /** @param now milliseconds of a clock that never goes back */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
    this.#attemptedAtMs = now()
  }

  /** Earns attempts; to be called for every answer. */
  onAnswer (): void {
    this.#attemptsLeft = Math.min(maxAttempts, this.#attemptsLeft + earnedByAnswer)
    this.#reusableSockets = Math.min(maxAttempts, this.#reusableSockets + 1)
  }

  /**
   * Loses an attempt, and remembers what the provider said about waiting; to be called for every failure.
   *
   * @param waits false when what it said holds for one of several credentials only
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

  /** Pays for one more attempt; false when there is none left. */
  take (): boolean {
    const nowMs = this.#now()
    if (nowMs - this.#attemptedAtMs > forgottenAfterMs) this.#attemptsLeft = Math.max(1, this.#attemptsLeft)
    if (this.#attemptsLeft < 1) return false
    this.#attemptedAtMs = nowMs
    this.#attemptsLeft--
    return true
  }

  /**
   * Returns true for a connection that was kept open and closed by the server at the same moment: that
   * is no failure, and a fresh one will do at once. Only as many count as answers have left open.
   */
  takeStaleSocket ({ staleConnection }: Pick<GatewayError, 'staleConnection'>): boolean {
    if (!staleConnection || this.#reusableSockets < 1) return false
    this.#reusableSockets--
    return true
  }

  /** Milliseconds for which the provider limits requests, from now on. */
  get cooldownMs (): number {
    return this.#notBeforeMs === 0 ? 0 : Math.max(0, this.#notBeforeMs - this.#now())
  }
}
