/**
 * Remembers what other processes say of providers and models, by their names: for how long each cools down,
 * unless this process knows better.
 */

/** Names whose last success is remembered: models are named by callers, so there is no end to them. */
const maxNames = 1000

export class LearnedCooldowns {
  readonly #now: () => number
  readonly #entries = new Map<
    string,
    { readonly untilMs: number, readonly learnedMs: number, readonly origin: string }
  >()
  /** By name, the time when the last attempt that succeeded here began. */
  readonly #workedMs = new Map<string, number>()

  /** @param now milliseconds of a clock that never goes back */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Takes over what another one knows of some names. */
  adopt (before: LearnedCooldowns, isKept: (name: string) => boolean): void {
    for (const [name, entry] of before.#entries) if (isKept(name)) this.#entries.set(name, entry)
    for (const [name, atMs] of before.#workedMs) if (isKept(name)) this.#workedMs.set(name, atMs)
  }

  /**
   * Notes a cooldown of another process, or that it is over.
   *
   * @param forMs 0 when it is over
   * @param failingMs for how long the name has failed there: what worked here since is believed more
   * @param origin the other process: only it can end what it has said
   */
  learn (name: string, forMs: number, failingMs: number, origin: string): void {
    const nowMs = this.#now()
    if (forMs > 0) {
      const workedMs = this.#workedMs.get(name)
      if (workedMs === undefined || workedMs < nowMs - failingMs) {
        this.#entries.set(name, { untilMs: nowMs + forMs, learnedMs: nowMs, origin })
      }
    } else if (this.#entries.get(name)?.origin === origin) this.#entries.delete(name)
  }

  /** Notes that an attempt succeeded here. @param begunMs when it began */
  worked (name: string, begunMs: number): void {
    this.#workedMs.delete(name) // the newest is the last
    this.#workedMs.set(name, begunMs)
    if (this.#workedMs.size > maxNames) {
      const [oldest = ''] = this.#workedMs.keys()
      this.#workedMs.delete(oldest)
    }
    const entry = this.#entries.get(name)
    if (entry !== undefined && entry.learnedMs <= begunMs) this.#entries.delete(name)
  }

  /** Returns for how many milliseconds a name cools down; 0 for one that does not. */
  forMs (name: string): number {
    const entry = this.#entries.get(name)
    if (entry === undefined) return 0
    const forMs = entry.untilMs - this.#now()
    if (forMs <= 0) this.#entries.delete(name)
    return Math.max(0, forMs)
  }

  /** Returns the names that cool down. */
  names (): string[] {
    return [...this.#entries.keys()].filter(name => this.forMs(name) > 0)
  }
}
