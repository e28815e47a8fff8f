/** Cooldowns of providers and models reported by other processes, unless this process knows better. */

/** Maximum names with a remembered success; callers name models, so names are unbounded. */
const maxNames = 1000

export class LearnedCooldowns {
  readonly #now: () => number
  readonly #entries = new Map<
    string,
    { readonly untilMs: number, readonly learnedMs: number, readonly origin: string }
  >()
  /** By name, when the last successful attempt here began. */
  readonly #succeededMs = new Map<string, number>()

  /** @param now returns monotonic milliseconds */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Copies what another instance knows about some names. */
  adopt (before: LearnedCooldowns, isKept: (name: string) => boolean): void {
    for (const [name, entry] of before.#entries) if (isKept(name)) this.#entries.set(name, entry)
    for (const [name, atMs] of before.#succeededMs) if (isKept(name)) this.#succeededMs.set(name, atMs)
  }

  /**
   * Records that a cooldown began or ended in another process.
   *
   * @param forMs 0 if it ended
   * @param failingMs how long the name has failed there; a later success here overrides the report
   * @param origin the reporting process; only it can end the cooldown
   */
  learn (name: string, forMs: number, failingMs: number, origin: string): void {
    const nowMs = this.#now()
    if (forMs > 0) {
      const succeededMs = this.#succeededMs.get(name)
      if (succeededMs === undefined || succeededMs < nowMs - failingMs) {
        this.#entries.set(name, { untilMs: nowMs + forMs, learnedMs: nowMs, origin })
      }
    } else if (this.#entries.get(name)?.origin === origin) this.#entries.delete(name)
  }

  /** Records a successful attempt here. @param begunMs when it began */
  recordSuccess (name: string, begunMs: number): void {
    this.#succeededMs.delete(name) // keep the newest last
    this.#succeededMs.set(name, begunMs)
    if (this.#succeededMs.size > maxNames) {
      const [oldest = ''] = this.#succeededMs.keys()
      this.#succeededMs.delete(oldest)
    }
    const entry = this.#entries.get(name)
    if (entry !== undefined && entry.learnedMs <= begunMs) this.#entries.delete(name)
  }

  /** Returns the remaining cooldown of a name in milliseconds; 0 if there is none. */
  forMs (name: string): number {
    const entry = this.#entries.get(name)
    if (entry === undefined) return 0
    const forMs = entry.untilMs - this.#now()
    if (forMs <= 0) this.#entries.delete(name)
    return Math.max(0, forMs)
  }

  /** Returns the names that are cooling down. */
  names (): string[] {
    return [...this.#entries.keys()].filter(name => this.forMs(name) > 0)
  }
}
