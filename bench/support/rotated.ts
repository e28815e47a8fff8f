/** Starts one item further on each round, and reverses the order every second time. */
export function rotated<T> (list: readonly T[], round: number): T[] {
  const at = round % list.length
  const turned = [...list.slice(at), ...list.slice(0, at)]
  return round % 2 === 0 ? turned : turned.toReversed()
}
