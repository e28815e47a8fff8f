/** Placeholders for values in the texts of one call, with the values. */
export interface Placeholders {
  /** The number of values. */
  readonly size: number
  /** The first parts of the names, such as `EMAIL`. */
  readonly labels: ReadonlySet<string>
  /**
   * Returns the placeholder of a value, such as `<EMAIL_k7q2m3xw>`; always the same for a value.
   *
   * @param label the kind of value: lower-case letters, digits, `_` and `-`
   * @throws GatewayError `too_many_values`
   */
  readonly nameOf: (label: string, value: string) => string
  /** Returns the value behind a placeholder of this call. */
  readonly valueOf: (name: string) => string | undefined
  /** Returns true for a placeholder of a response that the call continues, whose text contains it. */
  readonly isJoined: (name: string) => boolean
  /**
   * Takes over the values of a response that the call continues. Values sealed with another key are ignored.
   */
  readonly join: (sealed: string) => void
  /** Returns all values, encrypted, to be stored with a response; `undefined` if there are none. */
  readonly sealed: () => string | undefined
}
