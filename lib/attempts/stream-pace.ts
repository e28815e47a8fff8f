/**
 * Measures the pace of a stream whose provider limits slow ones. Only time spent waiting for events counts: a
 * caller may pause.
 */

import { withTimeout } from '../async/with-timeout.ts'
import { GatewayError } from '../core/errors.ts'
import type { SlowStreamSettings } from '../core/settings.ts'

/** The slowest pace that is accepted. */
export interface SlowStreamPolicy extends SlowStreamSettings {
  /**
   * Decides whether a slow stream is cancelled, and counts it if so. Each cancelled stream costs one more
   * request, to another model or of a caller who retries, so their number is capped.
   */
  readonly tryGiveUp: (moment: 'before_output' | 'after_output') => boolean
}

export class StreamPace {
  readonly #slow: SlowStreamPolicy
  /** Time waited in the current window, and events that arrived in it. */
  #windowMs = 0
  #windowEvents = 0
  #isMeasuring = false

  constructor (slow: SlowStreamPolicy) {
    this.#slow = slow
  }

  /** Starts measuring: the first output has arrived, or is no longer awaited. */
  startMeasuring (): void {
    this.#isMeasuring = true
    this.#windowMs = 0
    this.#windowEvents = 0
  }

  /**
   * Waits for a read, but not longer for an event than the settings allow.
   *
   * @param idleMs waited since the last event
   * @throws GatewayError `upstream_too_slow`
   */
  wait<T extends object> (pending: Promise<T>, idleMs: number): Promise<T> {
    const { pauseMs } = this.#slow
    return pauseMs === undefined || !this.#isMeasuring
      ? pending
      : this.#withinPause(pending, Math.max(0, pauseMs - idleMs))
  }

  noteWait (ms: number): void {
    this.#windowMs += ms
  }

  /**
   * Counts the events of a read.
   *
   * @returns true if the stream is cancelled
   */
  isTooSlow (events: number): boolean {
    const slow = this.#slow
    if (slow.eventsPerSecond === undefined || !this.#isMeasuring) return false
    this.#windowEvents += events
    if (this.#windowMs < slow.windowMs) return false
    const isSlow = this.#windowEvents * 1000 < slow.eventsPerSecond * this.#windowMs
    this.#windowMs = 0
    this.#windowEvents = 0
    return isSlow && slow.tryGiveUp('after_output')
  }

  async #withinPause<T extends object> (pending: Promise<T>, pauseMs: number): Promise<T> {
    const inTime = await withTimeout(pauseMs, pending)
    if (inTime === undefined && this.#slow.tryGiveUp('after_output')) throw tooSlow()
    return inTime ?? await pending
  }
}

export function tooSlow (): GatewayError {
  return new GatewayError('upstream_too_slow')
}
