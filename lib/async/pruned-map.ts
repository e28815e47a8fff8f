/** A smaller map is not searched for entries to remove. */
const minEntries = 1000

/**
 * Keeps a value for each of many names, such as keys, and removes those that are no longer used: it looks for
 * them when it holds twice as many as were left the last time.
 */
export class PrunedMap<T> extends Map<string, T> {
  readonly #isUnused: (value: T) => boolean
  #pruneAt = minEntries

  /** @param isUnused returns true for a value that may be removed */
  constructor (isUnused: (value: T) => boolean) {
    super()
    this.#isUnused = isUnused
  }

  override set (name: string, value: T): this {
    if (this.size >= this.#pruneAt) this.#prune()
    return super.set(name, value)
  }

  #prune (): void {
    for (const [name, value] of this) if (this.#isUnused(value)) this.delete(name)
    this.#pruneAt = Math.max(minEntries, 2 * this.size)
  }
}
