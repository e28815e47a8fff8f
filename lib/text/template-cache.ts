/** Misses in a row before another template is made. */
const maxMissed = 16

/**
 * Keeps the template of texts of one kind. It is made of the first one, and again after many in a row that did not fit: making one costs
 * more than doing without, so it is not made for each where all differ.
 */
export class TemplateCache<T extends object> {
  #template: T | undefined
  #missed = maxMissed

  /** Returns what a function makes of the template; `undefined` where there is none, or where the text does not fit. */
  use<R> (read: (template: T) => R | undefined): R | undefined {
    const result = this.#template === undefined ? undefined : read(this.#template)
    if (result !== undefined) this.#missed = 0
    return result
  }

  /** Notes a text that did not fit. @param make returns its template, or `undefined` for a text that others do not resemble */
  noteMiss (make: () => T | undefined): void {
    if (this.#missed++ < maxMissed) return
    this.#missed = 0
    this.#template = make()
  }
}
