/**
 * A circuit breaker for one model at one provider, for calls of one key or of all (see `model-circuit`), so
 * that calls with other routes do not each have to find out that it fails.
 *
 *     closed ── 5 failures in a row, or half of the last 20 ──► open ── cooldown ──► one probe
 *        ▲                                                       ▲                     │     │
 *        └──────────────────────── success ──────────────────────┼─────────────────────┘     │
 *                                                                └─ failure: double cooldown ┘
 *
 * It refuses nothing: an open circuit only moves a model behind the other routes of a call. Calls without
 * another route are counted, too.
 */

/** Consecutive failures that open the circuit. */
const maxStreak = 5
/** Number of recent attempts; the circuit opens when half of them failed. */
const remembered = 20
/** Milliseconds without attempts after which earlier outcomes no longer count. */
const forgottenAfterMs = 60_000
const initialCooldownMs = 5000
const maxCooldownMs = 60_000

/** An attempt in progress. Its outcome counts only if the circuit has not opened or closed since. */
export interface CircuitAttempt {
  /** Number of openings and closings before the attempt. */
  readonly generation: number
  readonly isProbe: boolean
}

/** The first attempt at an unknown model. */
export const initialAttempt: CircuitAttempt = { generation: 0, isProbe: false }

export class Breaker {
  readonly #maxFailuresOfKey: number
  /** Recent outcomes: the key of a failed call, else `undefined`. The newest is at `#next - 1`. */
  readonly #ring: Array<string | undefined> = []
  #next = 0
  #failures = 0
  #streak = 0
  #lastMs = -Infinity
  /** When a probe is allowed; `undefined` while closed. */
  #probeAtMs: number | undefined
  #cooldownMs = initialCooldownMs
  #isProbing = false
  #generation = 0
  #failingSinceMs = 0

  /** @param maxFailuresOfKey how many recent failures of one key count. Default: all */
  constructor (maxFailuresOfKey = Infinity) {
    this.#maxFailuresOfKey = maxFailuresOfKey
  }

  /** Number of openings and closings. */
  get generation (): number {
    return this.#generation
  }

  /** Start of the unbroken run of failures, or the time the breaker opened if it had recent successes. */
  get failingSinceMs (): number {
    return this.#failingSinceMs
  }

  /** True from the failures that opened it until an attempt succeeds. */
  get isOpen (): boolean {
    return this.#probeAtMs !== undefined
  }

  /**
   * Milliseconds until a probe is allowed, 0 while one is in flight; `undefined` if a call may be sent now.
   */
  openForMs (nowMs: number): number | undefined {
    if (this.#probeAtMs === undefined) return undefined
    if (nowMs < this.#probeAtMs) return this.#probeAtMs - nowMs
    return this.#isProbing ? 0 : undefined
  }

  /** Starts an attempt; `ended` must always follow. */
  begin (nowMs: number): CircuitAttempt {
    const isProbe = this.#probeAtMs !== undefined && nowMs >= this.#probeAtMs && !this.#isProbing
    if (isProbe) this.#isProbing = true
    return { generation: this.#generation, isProbe }
  }

  succeeded ({ generation }: CircuitAttempt, nowMs: number): void {
    if (generation !== this.#generation) return
    if (this.#probeAtMs === undefined) this.#remember(undefined, nowMs)
    else this.#close()
  }

  /** @param keyId the key of the call, if all keys share the circuit */
  failed ({ generation }: CircuitAttempt, nowMs: number, keyId = ''): void {
    if (generation !== this.#generation) return
    if (this.#probeAtMs === undefined) {
      if (this.#hasFailed(keyId, nowMs)) return
      this.#remember(keyId, nowMs)
      if (this.#isBad()) this.#open(nowMs)
    } else if (nowMs >= this.#probeAtMs) {
      this.#cooldownMs = Math.min(this.#cooldownMs * 2, maxCooldownMs)
      this.#open(nowMs)
    }
  }

  /** Turns the newest success into a failure, because its answer was cut off. */
  recordStreamFailure (nowMs: number, keyId = ''): void {
    if (this.#probeAtMs !== undefined || this.#hasFailed(keyId, nowMs)) return
    if (this.#isForgotten(nowMs) || !this.#takeBackSuccess(keyId)) this.#remember(keyId, nowMs)
    else if (this.#streak === 1) this.#failingSinceMs = nowMs
    if (this.#isBad()) this.#open(nowMs)
  }

  /** Allows another probe if this one had no result. */
  ended ({ generation, isProbe }: CircuitAttempt): void {
    if (isProbe && generation === this.#generation) this.#isProbing = false
  }

  /** Returns true if a key already has the maximum number of recent failures that count. */
  #hasFailed (keyId: string, nowMs: number): boolean {
    if (this.#maxFailuresOfKey === Infinity || this.#isForgotten(nowMs)) return false
    return this.#ring.filter(failed => failed === keyId).length >= this.#maxFailuresOfKey
  }

  #remember (failedFor: string | undefined, nowMs: number): void {
    if (this.#isForgotten(nowMs)) this.#forget()
    const failed = failedFor !== undefined
    this.#lastMs = nowMs
    if (this.#ring[this.#next] !== undefined) this.#failures--
    this.#ring[this.#next] = failedFor
    this.#next = (this.#next + 1) % remembered
    if (failed) this.#failures++
    this.#streak = failed ? this.#streak + 1 : 0
    if (this.#streak === 1) this.#failingSinceMs = nowMs
  }

  /** @returns false if there is no recent success */
  #takeBackSuccess (keyId: string): boolean {
    const seen = this.#ring.length
    for (let back = 1; back <= seen; back++) {
      const index = (this.#next - back + seen) % seen
      if (this.#ring[index] !== undefined) continue
      this.#ring[index] = keyId
      this.#failures++
      this.#streak = this.#streakFromNewest()
      return true
    }
    return false
  }

  #streakFromNewest (): number {
    const seen = this.#ring.length
    let count = 0
    while (count < seen && this.#ring[(this.#next - 1 - count + 2 * seen) % seen] !== undefined) count++
    return count
  }

  #isForgotten (nowMs: number): boolean {
    return nowMs - this.#lastMs > forgottenAfterMs
  }

  #isBad (): boolean {
    return this.#streak >= maxStreak || (this.#ring.length === remembered && this.#failures * 2 >= remembered)
  }

  #open (nowMs: number): void {
    if (this.#streak < maxStreak) this.#failingSinceMs = nowMs
    this.#probeAtMs = nowMs + this.#cooldownMs
    this.#isProbing = false
    this.#generation++
  }

  #close (): void {
    this.#probeAtMs = undefined
    this.#cooldownMs = initialCooldownMs
    this.#isProbing = false
    this.#generation++
    this.#forget()
  }

  #forget (): void {
    this.#ring.length = 0
    this.#next = 0
    this.#failures = 0
    this.#streak = 0
  }
}
