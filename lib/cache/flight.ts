import { CallCancellation, abortable } from '../async/cancellation.ts'
import type { CallSignal } from '../core/call.ts'

/** `uncached`: the answer is complete but must not be cached. */
export type FlightEnd = 'cached' | 'uncached' | 'failed'

/** How long calls wait, in milliseconds, for a caller who reads nothing. */
const maxUnreadMs = 1000

/**
 * A call to a provider whose answer equal calls wait for, instead of calling the provider themselves
 * (singleflight). If its caller leaves, the call continues as long as another caller waits.
 */
export class Flight {
  /** Aborts once nobody wants the answer. */
  readonly signal = new CallCancellation()
  readonly ended: Promise<FlightEnd>
  #settle: (end: FlightEnd) => void = () => undefined
  #waiting = 0
  /** Why its caller has left. */
  #left: { readonly reason: unknown } | undefined
  readonly #unreadSinceMs: () => number | undefined

  /** @param unreadSinceMs returns `TimeFacts.unreadSinceMs` of its caller. Default: the caller reads */
  constructor (unreadSinceMs: () => number | undefined = () => undefined) {
    this.#unreadSinceMs = unreadSinceMs
    this.ended = new Promise(resolve => { this.#settle = resolve })
  }

  get isAwaited (): boolean {
    return this.#waiting > 0
  }

  end (end: FlightEnd): void {
    this.#settle(end)
  }

  /** Records that the caller whose call it was has left. */
  leave (reason: unknown): void {
    this.#left = { reason }
    if (!this.isAwaited) this.signal.abort(reason)
  }

  /**
   * Waits for the end of the flight. It ends as `uncached` if its caller stops reading: nobody has to wait
   * for a slow reader. @throws the reason of the signal
   */
  async wait (signal: CallSignal): Promise<FlightEnd> {
    this.#waiting++
    const timer = setInterval(() => {
      const sinceMs = this.#left === undefined ? this.#unreadSinceMs() : undefined
      if (sinceMs !== undefined && performance.now() - sinceMs > maxUnreadMs) this.end('uncached')
    }, maxUnreadMs)
    try {
      return await abortable(this.ended, signal)
    } finally {
      clearInterval(timer)
      this.#waiting--
      if (!this.isAwaited && this.#left !== undefined) this.signal.abort(this.#left.reason)
    }
  }
}
