import type { Provider } from '../providers/provider.ts'

/** Milliseconds for which a server counts as one without the API: it may get it with an update. */
export const missingMs = 15 * 60_000

/**
 * Remembers the servers that turned out not to have the API of a dialect that their kind has. One that has
 * shown that it has the API never counts as such: what it says later is about the request. Of this process,
 * until the configuration is reloaded.
 */
export class MissingApis {
  readonly #now: () => number
  readonly #served = new WeakSet<Provider>()
  readonly #untilMs = new WeakMap<Provider, number>()

  /** @param now milliseconds of a clock that never goes back */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Notes that a direct request has succeeded. */
  noteServed (provider: Provider): void {
    this.#served.add(provider)
  }

  /**
   * Notes that a server has said that it does not have the API, and the same request then succeeded
   * translated.
   */
  noteMissing (provider: Provider): void {
    this.#untilMs.set(provider, this.#now() + missingMs)
  }

  isMissing (provider: Provider): boolean {
    const untilMs = this.#untilMs.get(provider)
    return untilMs !== undefined && this.#now() < untilMs && !this.#served.has(provider)
  }
}
