/** Calls that pay for one more request. */
const callsPerHedge = 20
/** Hedges that calls without one have saved up at most. */
const maxSaved = 10

/**
 * Allows an extra request for one call in 20: on average, since calls without one save up for at most ten in
 * a row.
 */
export class ExtraRequestBudget {
  #saved = 1

  /** Counts such a call. */
  onCall (): void {
    this.#saved = Math.min(maxSaved, this.#saved + 1 / callsPerHedge)
  }

  /** Pays for one extra request; false when there is none left. */
  take (): boolean {
    if (this.#saved < 1) return false
    this.#saved--
    return true
  }
}
