/** A signal that aborts with another one or after a while, and the way to call the clock off. */
export interface Deadline {
  readonly signal: AbortSignal
  /** True when it was the clock that aborted it. */
  readonly passed: () => boolean
  readonly clear: () => void
}

/** @param reason what the signal's reason will be when the time is up */
export function deadline (ms: number, parent: AbortSignal, reason: unknown): Deadline {
  const controller = new AbortController()
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
    clear: () => {
      clearTimeout(timer)
      parent.removeEventListener('abort', follow)
    }
  }
}
