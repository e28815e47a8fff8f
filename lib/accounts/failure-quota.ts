/**
 * Bounds how many failed sign-ins that are of no user are written into the audit log: anyone can make them,
 * from any number of addresses, and they must not fill the store. Those of a user have the throttle.
 */

const windowMs = 15 * 60_000
const maxNoted = 100

export class FailureQuota {
  #noted = 0
  #untilMs = 0

  /** Takes a place. @returns false where a quarter of an hour had too many */
  take (nowMs = performance.now()): boolean {
    if (nowMs >= this.#untilMs) {
      this.#untilMs = nowMs + windowMs
      this.#noted = 0
    }
    return ++this.#noted <= maxNoted
  }
}
