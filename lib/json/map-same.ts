/** Maps a list. Returns the same one when every item stays as it is. */
export function mapSame<T> (list: readonly T[], map: (item: T, index: number) => T): readonly T[] {
  const mapped = list.map(map)
  return mapped.every((item, index) => item === list[index]) ? list : mapped
}
