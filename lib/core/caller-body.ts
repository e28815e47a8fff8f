/** The body of a request, and the bytes that it came as. */
export interface CallerBody {
  /** Returns the text that it came as. */
  readonly text: () => string
  /** Prints an object: the lists and objects that it has from the body in the bytes that they came as. */
  readonly print: (object: object) => string | Uint8Array
}

/** The media of a large request, taken out of its parsed body: short placeholders stand for them. */
export interface RequestMedia {
  /**
   * Returns the medium of a placeholder, as in the body but without escapes; `undefined` for any other text.
   */
  readonly bytesOf: (text: string) => Buffer | undefined
  /** Puts the media into JSON that was printed with placeholders. */
  readonly restore: (printed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}
