/** Tells when something begins to fail and when it works again, instead of each failure. */

export interface OutageOptions {
  /** Called with the first failure. */
  readonly onBegin: (error: unknown) => void
  readonly onEnd?: () => void
  /** Milliseconds without a failure before a success ends the outage. Default 0. */
  readonly quietMs?: number
  /** Returns monotonic milliseconds. */
  readonly now?: () => number
}

export class Outage {
  readonly #options: Required<OutageOptions>
  #isOngoing = false
  #failedAtMs = 0

  constructor (options: OutageOptions) {
    this.#options = { onEnd: () => undefined, quietMs: 0, now: () => performance.now(), ...options }
  }

  get isOngoing (): boolean {
    return this.#isOngoing
  }

  readonly failed = (error: unknown): void => {
    const { now, onBegin } = this.#options
    this.#failedAtMs = now()
    if (this.#isOngoing) return
    this.#isOngoing = true
    onBegin(error)
  }

  readonly succeeded = (): void => {
    const { now, onEnd, quietMs } = this.#options
    if (!this.#isOngoing || now() - this.#failedAtMs < quietMs) return
    this.#isOngoing = false
    onEnd()
  }
}
