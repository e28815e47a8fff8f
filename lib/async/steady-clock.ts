/**
 * Unix time for periods and records that ignores sudden jumps of the system's clock.
 *
 * A system clock that is briefly a day ahead would open tomorrow's budgets. Time therefore follows the
 * monotonic clock. The system's clock is trusted again once it has been ahead by about the same amount for a
 * minute, as after a suspended machine wakes up. Time never goes back.
 */
export class SteadyClock {
  readonly #wall: () => number
  readonly #monotonic: () => number
  #offsetMs: number
  #aheadMs = 0
  #aheadSinceMs: number | undefined

  /**
   * @param wall Unix milliseconds
   * @param monotonic milliseconds since any moment
   */
  constructor (wall: () => number = Date.now, monotonic: () => number = () => performance.now()) {
    this.#wall = wall
    this.#monotonic = monotonic
    this.#offsetMs = wall() - monotonic()
  }

  /** Returns Unix milliseconds, an integer. */
  now (): number {
    const monotonicMs = this.#monotonic()
    const aheadMs = this.#wall() - monotonicMs - this.#offsetMs
    if (aheadMs > toleranceMs) this.#confirmJump(aheadMs, monotonicMs)
    else this.#aheadSinceMs = undefined
    return Math.round(monotonicMs + this.#offsetMs)
  }

  #confirmJump (aheadMs: number, monotonicMs: number): void {
    const steady = this.#aheadSinceMs !== undefined && Math.abs(aheadMs - this.#aheadMs) <= toleranceMs
    if (!steady) {
      this.#aheadSinceMs = monotonicMs
      this.#aheadMs = aheadMs
    } else if (monotonicMs - (this.#aheadSinceMs ?? monotonicMs) >= confirmAfterMs) {
      this.#offsetMs += aheadMs
      this.#aheadSinceMs = undefined
    }
  }
}

/** Corrections of the clock up to this size are not jumps. */
const toleranceMs = 2000
const confirmAfterMs = 60_000

const clock = new SteadyClock()

/** Returns the time of this process's steady clock, in Unix milliseconds, an integer. */
export function steadyNow (): number {
  return clock.now()
}
