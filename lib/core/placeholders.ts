/** Placeholders that stand for values in the texts of one call, and the values. */
export interface Placeholders {
  /** The number of values. */
  readonly size: number
  /** The first parts of the names, such as `EMAIL`. */
  readonly labels: ReadonlySet<string>
  /**
   * Returns the placeholder of a value, such as `<EMAIL_k7q2m3xw>`; the same each time.
   *
   * @param label the name of what was found: lower-case letters, digits, `_` and `-`
   * @throws GatewayError `too_many_values`
   */
  readonly nameOf: (label: string, value: string) => string
  /** Returns the value that a placeholder stands for in this call. */
  readonly valueOf: (name: string) => string | undefined
  /** Returns true for a placeholder of a response that the call continues: its text has them already. */
  readonly isJoined: (name: string) => boolean
  /** Takes over the values of a response that the call continues. What others have sealed is ignored. */
  readonly join: (sealed: string) => void
  /** Returns all values, encrypted, to be stored with a response; `undefined`: there are none. */
  readonly sealed: () => string | undefined
}
