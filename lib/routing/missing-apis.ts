import type { Provider } from '../providers/provider.ts'

/** How long a server counts as lacking the API, in milliseconds; an update may add it. */
export const missingMs = 15 * 60_000

/**
 * Remembers which servers lack the API of a dialect that their kind usually has. A server that has served the
 * API once never counts as lacking it: later refusals are about the request. Kept per process, until the
 * configuration is reloaded.
 */
export class MissingApis {
  readonly #now: () => number
  readonly #served = new WeakSet<Provider>()
  readonly #untilMs = new WeakMap<Provider, number>()

  /** @param now returns monotonic milliseconds */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Records that a direct request succeeded. */
  noteServed (provider: Provider): void {
    this.#served.add(provider)
  }

  /** Records that a server refused the API and then accepted the same request in translated form. */
  noteMissing (provider: Provider): void {
    this.#untilMs.set(provider, this.#now() + missingMs)
  }

  isMissing (provider: Provider): boolean {
    const untilMs = this.#untilMs.get(provider)
    return untilMs !== undefined && this.#now() < untilMs && !this.#served.has(provider)
  }
}
