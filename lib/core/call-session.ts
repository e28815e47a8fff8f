/** The session that a call belongs to. */
export interface CallSession {
  /** Differs between gateway keys. `undefined`: the call belongs to none. */
  readonly id: string | undefined
  /** Returns a number from 0 to 1, without 1, for a name: always the same for a session, else by chance. */
  readonly draw: (name: string) => number
}

/**
 * Returns what orders candidates by weight (Efraimidis and Spirakis): the lowest wins, and each wins as often
 * as its share of all weights says. Weight 0 comes after all others.
 *
 * @param drawn from 0 to 1, without 1
 */
export function weightedKey (weight: number, drawn: number): number {
  return weight === 0 ? Infinity : -Math.log(1 - drawn) / weight
}
