/**
 * Watches how fast the events of a stream come whose provider limits slow ones. Only the time in which they
 * are waited for counts: a caller may pause.
 */

import { withTimeout } from '../async/with-timeout.ts'
import { GatewayError } from '../core/errors.ts'
import type { SlowStreamSettings } from '../core/settings.ts'

/** The slowest stream that is accepted. */
export interface SlowStreamGuard extends SlowStreamSettings {
  /**
   * Decides whether a stream that is too slow is given up. Each true one is a request more, at another model
   * or of a caller who asks again, so their number is capped.
   */
  readonly mayGiveUp: (moment: 'before_output' | 'after_output') => boolean
}

export class StreamPace {
  readonly #slow: SlowStreamGuard
  /** Waited in the present window of the guard, and events that came in it. */
  #windowMs = 0
  #windowEvents = 0
  #isGuarded = false

  constructor (slow: SlowStreamGuard) {
    this.#slow = slow
  }

  /** Starts the guard: the first output has arrived, or is no longer awaited. */
  guard (): void {
    this.#isGuarded = true
    this.#windowMs = 0
    this.#windowEvents = 0
  }

  /**
   * Waits for a read, but not longer for an event than the guard allows.
   *
   * @param idleMs waited since the last event
   * @throws GatewayError `upstream_too_slow`
   */
  wait<T extends object> (pending: Promise<T>, idleMs: number): Promise<T> {
    const { pauseMs } = this.#slow
    return pauseMs === undefined || !this.#isGuarded
      ? pending
      : this.#withinPause(pending, Math.max(0, pauseMs - idleMs))
  }

  noteWait (ms: number): void {
    this.#windowMs += ms
  }

  /** Counts the events of a read. @returns true for a stream that is given up */
  isTooSlow (events: number): boolean {
    const slow = this.#slow
    if (slow.eventsPerSecond === undefined || !this.#isGuarded) return false
    this.#windowEvents += events
    if (this.#windowMs < slow.windowMs) return false
    const isSlow = this.#windowEvents * 1000 < slow.eventsPerSecond * this.#windowMs
    this.#windowMs = 0
    this.#windowEvents = 0
    return isSlow && slow.mayGiveUp('after_output')
  }

  async #withinPause<T extends object> (pending: Promise<T>, pauseMs: number): Promise<T> {
    const inTime = await withTimeout(pauseMs, pending)
    if (inTime === undefined && this.#slow.mayGiveUp('after_output')) throw tooSlow()
    return inTime ?? await pending
  }
}

export function tooSlow (): GatewayError {
  return new GatewayError('upstream_too_slow')
}
