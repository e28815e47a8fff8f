/** The body of a request, and the bytes that it came as. */
export interface CallerBody {
  /** Returns the text that it came as. */
  readonly text: () => string
  /** Prints an object: the lists and objects that it has from the body in the bytes that they came as. */
  readonly print: (object: object) => string | Uint8Array
}
