/** Cooldowns of providers and models reported by other processes, unless this process knows better. */

/** Maximum names that are remembered; callers name models, so names are unbounded. */
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
        setNewest(this.#entries, name, { untilMs: nowMs + forMs, learnedMs: nowMs, origin })
      }
    } else if (this.#entries.get(name)?.origin === origin) this.#entries.delete(name)
  }

  /** Records a successful attempt here. @param begunMs when it began */
  recordSuccess (name: string, begunMs: number): void {
    setNewest(this.#succeededMs, name, begunMs)
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

/** Sets a value; of too many, the one set first is removed. */
function setNewest<T> (values: Map<string, T>, name: string, value: T): void {
  values.delete(name) // keep the newest last
  values.set(name, value)
  if (values.size > maxNames) {
    const [oldest = ''] = values.keys()
    values.delete(oldest)
  }
}
