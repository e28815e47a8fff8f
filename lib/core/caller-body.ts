/** The body of a call, parsed and as it was sent. */

/** The parsed body of a request, with its bytes. */
export interface CallerBody {
  /** Returns the text of the received bytes. */
  readonly text: () => string
  /** Prints an object. Lists and objects taken from the body are copied from its bytes. */
  readonly print: (object: object) => string | Uint8Array
}

/** The media of a large request. In its parsed body, short placeholders stand for them. */
export interface RequestMedia {
  /**
   * Returns the medium of a placeholder, as in the body but without escapes; `undefined` for any other text.
   */
  readonly bytesOf: (text: string) => Buffer | undefined
  /** Puts the media into JSON that was printed with placeholders. */
  readonly restore: (printed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}
