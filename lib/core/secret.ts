/** A text that shows as `[redacted]` wherever it is printed. */
export class Secret {
  /** The variable or the file it came from, for messages. */
  readonly source: string | undefined
  readonly #text: string

  constructor (text: string, source?: string) {
    this.#text = text
    this.source = source
  }

  /** Returns the text itself: only for the header that needs it. */
  reveal (): string {
    return this.#text
  }

  toString (): string {
    return '[redacted]'
  }

  toJSON (): string {
    return '[redacted]'
  }

  [Symbol.for('nodejs.util.inspect.custom')] (): string {
    return '[redacted]'
  }
}
