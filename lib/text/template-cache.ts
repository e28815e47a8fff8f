/** Misses in a row, before the next one is learned. */
const maxMissed = 16

/**
 * Keeps the template of what the last ones of a kind had in common. It is made of the first one, and again where many in a row did not fit: to make it costs
 * more than to do without it, so that it is not made for each where all differ.
 */
export class TemplateCache<T extends object> {
  #known: T | undefined
  #missed = maxMissed

  /** Returns what a function makes of what is known; `undefined` where nothing is, or where it does not fit. */
  use<R> (read: (known: T) => R | undefined): R | undefined {
    const result = this.#known === undefined ? undefined : read(this.#known)
    if (result !== undefined) this.#missed = 0
    return result
  }

  /** Takes one that did not fit. @param make returns `undefined` for one that others do not resemble */
  learn (make: () => T | undefined): void {
    if (this.#missed++ < maxMissed) return
    this.#missed = 0
    this.#known = make()
  }
}
