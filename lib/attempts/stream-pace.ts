/**
 * Watches how fast the events of one stream come. Only the time in which they are waited for counts: a caller
 * may pause.
 */

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
  readonly #slow: SlowStreamGuard | undefined
  readonly #idleEventsMs: number
  /** Waited since the last event. */
  #idleMs = 0
  /** Waited in the present window of the guard, and events that came in it. */
  #windowMs = 0
  #windowEvents = 0
  #isGuarded = false

  /** @param idleEventsMs longest wait without an event, while bytes come all the same */
  constructor (slow: SlowStreamGuard | undefined, idleEventsMs: number) {
    this.#slow = slow
    this.#idleEventsMs = idleEventsMs
  }

  /** Starts the guard: the first output has arrived, or is no longer awaited. */
  guard (): void {
    this.#isGuarded = true
    this.#windowMs = 0
    this.#windowEvents = 0
  }

  /**
   * Waits for a read, but not longer for an event than the guard allows. @throws GatewayError
   * `upstream_too_slow`
   */
  wait<T> (pending: Promise<T>): Promise<T> {
    const pauseMs = this.#isGuarded ? this.#slow?.pauseMs : undefined
    return pauseMs === undefined ? pending : this.#withinPause(pending, pauseMs)
  }

  noteWait (ms: number): void {
    this.#idleMs += ms
    this.#windowMs += ms
  }

  noteEvents (): void {
    this.#idleMs = 0
  }

  /** @throws GatewayError `upstream_timeout` */
  checkIdle (): void {
    if (this.#idleMs > this.#idleEventsMs) throw new GatewayError('upstream_timeout')
  }

  /** Counts the events of a read. @returns true for a stream that is given up */
  isTooSlow (events: number): boolean {
    const slow = this.#slow
    if (slow?.eventsPerSecond === undefined || !this.#isGuarded) return false
    this.#windowEvents += events
    if (this.#windowMs < slow.windowMs) return false
    const isSlow = this.#windowEvents * 1000 < slow.eventsPerSecond * this.#windowMs
    this.#windowMs = 0
    this.#windowEvents = 0
    return isSlow && slow.mayGiveUp('after_output')
  }

  async #withinPause<T> (pending: Promise<T>, pauseMs: number): Promise<T> {
    const pause = startTimer(Math.max(0, pauseMs - this.#idleMs), 'paused' as const)
    try {
      const first = await Promise.race([pending, pause.elapsed])
      if (first !== 'paused') return first
      if (this.#slow?.mayGiveUp('after_output') === true) throw tooSlow()
    } finally {
      pause.stop()
    }
    return await pending
  }
}

export function tooSlow (): GatewayError {
  return new GatewayError('upstream_too_slow')
}

/** A timer that is waited for as a promise. */
export interface Timer<T> {
  readonly elapsed: Promise<T>
  readonly stop: () => void
}

/** Starts a timer; its promise never rejects, and stays pending once it is stopped. */
export function startTimer<T> (ms: number, value: T): Timer<T> {
  let timer: NodeJS.Timeout | undefined
  const elapsed = new Promise<T>(resolve => { timer = setTimeout(resolve, ms, value) })
  return { elapsed, stop: () => clearTimeout(timer) }
}
