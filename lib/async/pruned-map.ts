/** A smaller map is never pruned. */
const minEntries = 1000

/**
 * Keeps a value for each of many names, such as keys, and removes unused ones: it prunes itself at twice the
 * size that the last pruning left.
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
