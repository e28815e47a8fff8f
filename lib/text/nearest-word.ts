/** Finds the nearest known word: the "did you mean" of unknown entries, parameters and models. */

/**
 * Returns the candidate nearest to a word, by Levenshtein distance with swaps, ignoring case, `-`, `_` and
 * spaces; the first of several equally near ones.
 *
 * @returns `undefined` if none is near: more than a third of the longer word would have to change
 */
export function nearestWord (word: string, candidates: Iterable<string>): string | undefined {
  const wanted = plain(word)
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates) {
    const text = plain(candidate)
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, text.length) / 3))
    const limit = Math.min(allowed, bestDistance - 1)
    // Words of very different lengths are never near: most of a long catalogue ends here.
    if (Math.abs(wanted.length - text.length) > limit) continue
    const distance = distanceOf(wanted, text)
    if (distance > limit) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

function plain (word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, '')
}

/** Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into another. */
function distanceOf (a: string, b: string): number {
  let older: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
        ? at(older, j - 2) + 1
        : Infinity
      row.push(Math.min(replaced, swapped, at(previous, j) + 1, at(row, j - 1) + 1))
    }
    older = previous
    previous = row
  }
  return at(previous, b.length)
}

/** Indexes here are always within the row, which the type checker cannot know. */
function at (row: readonly number[], index: number): number {
  return row[index] ?? Infinity
}
