/** Ids that are remembered: callers send results within seconds, as a rule. */
const maxIds = 10_000
/** Ids of providers have 30 characters or so. Longer ones are not remembered: a provider may send any. */
const maxLength = 256

/**
 * Remembers which provider made a tool call, for the histories that come back with its id: ids look alike at
 * most providers. Of this process; a call at another one goes by what the history says itself.
 */
export class ToolCallOrigins {
  readonly #providers = new Map<string, string>()

  note (ids: readonly string[], providerId: string): void {
    for (const id of ids) {
      if (id.length > maxLength) continue
      this.#providers.delete(id)
      this.#providers.set(id, providerId)
    }
    for (const [oldest] of this.#providers) {
      if (this.#providers.size <= maxIds) break
      this.#providers.delete(oldest)
    }
  }

  providerOf (id: string): string | undefined {
    return this.#providers.get(id)
  }
}
