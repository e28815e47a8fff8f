/**
 * Keeps what was printed of the last few combinations of values: what most calls of a key have in common, such as the model, the
 * provider and the outcome. To compare nine values takes a twentieth of printing them.
 */

import { copyString } from './copy-string.ts'

export type PlainValue = string | number | boolean | null | undefined

/** Combinations that are kept: each of them may be compared with. */
const maxKept = 8
/** Characters of a text that is kept: callers choose some of the values. */
const maxLength = 2048

export class KeptTexts<V extends readonly PlainValue[]> {
  readonly #print: (values: V) => string
  readonly #kept: Array<{ readonly values: V, readonly text: string }> = []
  /** The place of the one that is replaced next. */
  #oldest = 0

  /** @param print gives the same text for the same values */
  constructor (print: (values: V) => string) {
    this.#print = print
  }

  /** Returns the text of the values. */
  of (values: V): string {
    for (const known of this.#kept) if (areSame(known.values, values)) return known.text
    const text = this.#print(values)
    if (text.length <= maxLength) this.#keep(values, text)
    return text
  }

  #keep (values: V, text: string): void {
    // A value may be a slice of a body, which would be kept with it.
    const own = values.map(value => typeof value === 'string' ? copyString(value) : value) as unknown as V // as many, of the same types
    this.#kept[this.#oldest] = { values: own, text }
    this.#oldest = (this.#oldest + 1) % maxKept
  }
}

function areSame (one: readonly PlainValue[], other: readonly PlainValue[]): boolean {
  for (let place = 0; place < one.length; place++) if (one[place] !== other[place]) return false
  return true
}
