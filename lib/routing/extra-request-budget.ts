/** Calls that earn one extra request. */
const callsPerHedge = 20
/** Maximum extra requests that can be saved up. */
const maxSaved = 10

/** Allows an extra request for one call in 20 on average. At most ten can be saved up. */
export class ExtraRequestBudget {
  #saved = 1

  /** Counts a call. */
  onCall (): void {
    this.#saved = Math.min(maxSaved, this.#saved + 1 / callsPerHedge)
  }

  /** Spends one extra request; returns false if there is none. */
  take (): boolean {
    if (this.#saved < 1) return false
    this.#saved--
    return true
  }
}
