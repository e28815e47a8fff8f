/**
 * Adds the members of a list to another. As arguments of `push`, a hundred thousand would be more than the
 * stack holds.
 */
export function append<T> (list: T[], more: Iterable<T>): void {
  for (const member of more) list.push(member)
}
