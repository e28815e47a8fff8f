/**
 * Limits how many failed sign-ins for unknown users are written to the audit log: anyone can cause them, from
 * any number of addresses, and they must not fill the store. The throttle limits those for known users.
 */

const windowMs = 15 * 60_000
const maxNoted = 100

export class FailureQuota {
  #noted = 0
  #untilMs = 0

  /**
   * Uses one place.
   *
   * @returns false if the last quarter of an hour had too many
   */
  take (nowMs = performance.now()): boolean {
    if (nowMs >= this.#untilMs) {
      this.#untilMs = nowMs + windowMs
      this.#noted = 0
    }
    return ++this.#noted <= maxNoted
  }
}
