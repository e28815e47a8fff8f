/** Appends the members of a list. As arguments of `push`, a hundred thousand would overflow the stack. */
export function append<T> (list: T[], more: Iterable<T>): void {
  for (const member of more) list.push(member)
}
