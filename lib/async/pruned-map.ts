/** Entries below which it is not worth looking for some to remove. */
const minEntries = 1000

/**
 * Keeps a value for each of many names, such as keys, and removes those that are no longer used: it looks for
 * them when it holds twice as many as were left the last time.
 */
export class PrunedMap<T> {
  readonly #entries = new Map<string, T>()
  readonly #isUnused: (value: T) => boolean
  #pruneAt = minEntries

  /** @param isUnused returns true for a value that may be removed */
  constructor (isUnused: (value: T) => boolean) {
    this.#isUnused = isUnused
  }

  get size (): number {
    return this.#entries.size
  }

  get (name: string): T | undefined {
    return this.#entries.get(name)
  }

  set (name: string, value: T): void {
    if (this.#entries.size >= this.#pruneAt) this.#prune()
    this.#entries.set(name, value)
  }

  [Symbol.iterator] (): IterableIterator<[string, T]> {
    return this.#entries[Symbol.iterator]()
  }

  #prune (): void {
    for (const [name, value] of this.#entries) if (this.#isUnused(value)) this.#entries.delete(name)
    this.#pruneAt = Math.max(minEntries, 2 * this.#entries.size)
  }
}
