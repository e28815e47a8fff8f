/** Maximum ids to remember: callers usually send results within seconds. */
const maxIds = 10_000
/** Maximum length of an id. Usual ones have about 30 characters, but a provider may send any. */
const maxLength = 256

/**
 * Remembers which provider made a tool call, for histories that include its id; ids look alike at most
 * providers. Kept per process: calls at other processes rely on the history itself.
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
