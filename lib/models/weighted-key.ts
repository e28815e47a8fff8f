/**
 * Returns a number that orders candidates by weight (Efraimidis and Spirakis): the lowest wins, and each
 * candidate wins in proportion to its weight. Weight 0 comes last.
 *
 * @param drawn from 0 up to but not including 1
 */
export function weightedKey (weight: number, drawn: number): number {
  return weight === 0 ? Infinity : -Math.log(1 - drawn) / weight
}
