/**
 * Paces an answer of the sandbox, one pause at a time, with its only timers.
 *
 * A pause listens to the signal only while it lasts, so an unread answer that is dropped leaves neither a
 * timer nor a listener.
 */

import type { CallSignal } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'

/** The maximum delay of a Node.js timer; a longer one would fire immediately. */
const maxMs = 2 ** 31 - 1

export class Clock {
  readonly #signal: CallSignal
  #end: ((error: unknown) => void) | undefined

  constructor (signal: CallSignal) {
    this.#signal = signal
  }

  /**
   * Waits `ms` milliseconds, but no longer than the caller does.
   *
   * @throws GatewayError `upstream_timeout` after `limitMs`; the reason of the signal or of `stop`, whichever
   *   comes first
   */
  async pause (ms: number, limitMs: number): Promise<void> {
    this.#signal.throwIfAborted()
    if (ms <= 0) return
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: unknown): void => {
        clearTimeout(timer)
        this.#signal.removeEventListener('abort', onAbort)
        this.#end = undefined
        if (error === undefined) resolve()
        else reject(error)
      }
      const onAbort = (): void => settle(this.#signal.reason)
      const onTime = (): void => settle(ms <= limitMs ? undefined : new GatewayError('upstream_timeout'))
      const timer = setTimeout(onTime, Math.min(ms, limitMs, maxMs))
      this.#signal.addEventListener('abort', onAbort)
      this.#end = settle
    })
  }

  /** Ends the current pause, if any: it rejects with `error`. */
  stop (error: unknown): void {
    this.#end?.(error)
  }
}
