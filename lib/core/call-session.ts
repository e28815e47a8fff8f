/** The session of a call, and the draw by which weights order candidates. */

/** The session that a call belongs to. */
export interface CallSession {
  /** Differs between gateway keys. `undefined`: the call has no session. */
  readonly id: string | undefined
  /**
   * Returns a number from 0 up to but not including 1 for a name: always the same for a session, otherwise
   * random.
   */
  readonly draw: (name: string) => number
}

/**
 * Returns a number that orders candidates by weight (Efraimidis and Spirakis): the lowest wins, and each
 * candidate wins in proportion to its weight. Weight 0 comes last.
 *
 * @param drawn from 0 up to but not including 1
 */
export function weightedKey (weight: number, drawn: number): number {
  return weight === 0 ? Infinity : -Math.log(1 - drawn) / weight
}
