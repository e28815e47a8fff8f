/** Time limits for work of a call, as signals. */

import { setMaxListeners } from 'node:events'
import type { CallSignal } from '../core/call.ts'

/** A signal that aborts with its parent, after a time limit, or at the end of the work it is for. */
export interface Deadline {
  readonly signal: AbortSignal
  /** True if the time limit aborted it. */
  readonly passed: () => boolean
  /** Stops the clock, and aborts everything that still uses the signal. */
  readonly end: () => void
}

/** Returns the reason of a deadline whose error an operator reads. */
export function tooLate (ms: number): Error {
  return new Error(`no answer within ${ms / 1000} s`)
}

/** Created once, because creating an exception is slow. */
const over = new DOMException('The work has ended.', 'AbortError')

/**
 * Starts a time limit that does not keep the process alive. `AbortSignal.any` of an `AbortSignal.timeout` is
 * no replacement: Node.js 20 may collect that timeout as garbage, and it then never aborts.
 *
 * @param reason of the signal when the time is up. Default: an `AbortError`
 */
export function startDeadline (ms: number, parent: CallSignal, reason?: unknown): Deadline {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // many listeners use it, and each removes itself
  let passed = false
  const follow = (): void => controller.abort(parent.reason)
  const timer = setTimeout(() => {
    passed = true
    controller.abort(reason)
  }, ms)
  timer.unref()
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    passed: () => passed,
    end: () => {
      clearTimeout(timer)
      parent.removeEventListener('abort', follow)
      controller.abort(reason ?? over)
    }
  }
}
