/** Messages by which the primary process notices that a worker hangs. */

/** Milliseconds between two heartbeats of a process, and between two checks for them. */
export const beatEveryMs = 1000

/**
 * Detects hanging processes: any message counts as a heartbeat, and a process that is silent for too long is
 * reported once.
 */
export class Heartbeats<P> {
  readonly #timeoutMs: number
  readonly #onSilent: (process: P) => void
  readonly #now: () => number
  readonly #seenMs = new Map<P, number>()
  readonly #timer: NodeJS.Timeout
  #checkedMs: number

  constructor (
    timeoutMs: number,
    onSilent: (process: P) => void,
    now: () => number = () => performance.now()
  ) {
    this.#timeoutMs = timeoutMs
    this.#onSilent = onSilent
    this.#now = now
    this.#checkedMs = now()
    this.#timer = setInterval(() => this.check(), beatEveryMs).unref()
  }

  watch (process: P): void {
    this.#seenMs.set(process, this.#now())
  }

  beat (process: P): void {
    if (this.#seenMs.has(process)) this.#seenMs.set(process, this.#now())
  }

  forget (process: P): void {
    this.#seenMs.delete(process)
  }

  stop (): void {
    clearInterval(this.#timer)
  }

  check (): void {
    const nowMs = this.#now()
    // This process itself was suspended: messages may still wait to be read.
    const stalled = nowMs - this.#checkedMs > 3 * beatEveryMs
    this.#checkedMs = nowMs
    for (const [process, seenMs] of this.#seenMs) {
      if (stalled) this.#seenMs.set(process, nowMs)
      else if (nowMs - seenMs > this.#timeoutMs) {
        this.#seenMs.delete(process)
        this.#onSilent(process)
      }
    }
  }
}
