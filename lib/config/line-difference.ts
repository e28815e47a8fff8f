/** Compares two texts line by line. */

import type { ConfigurationCheck } from '../../schemas/admin/configuration.ts'

type Line = ConfigurationCheck['diff'][number]

/** Maximum line pairs to compare; larger changes are shown as one removal and one addition. */
const maxPairs = 4_000_000

/** Maximum lines listed individually. */
const maxLines = 10_000

/**
 * Lists the lines of both texts in order, marked as same, removed or added; very long texts as two entries.
 */
export function lineDifference (before: string, after: string): Line[] {
  const [old, next] = [before.split('\n', maxLines + 1), after.split('\n', maxLines + 1)]
  if (old.length > maxLines || next.length > maxLines) {
    return before === after
      ? marked('same', [before])
      : [...marked('removed', [before]), ...marked('added', [after])]
  }
  let start = 0
  while (start < Math.min(old.length, next.length) && old[start] === next[start]) start++
  let end = 0
  while (end < Math.min(old.length, next.length) - start && old.at(-1 - end) === next.at(-1 - end)) end++
  return [
    ...marked('same', old.slice(0, start)),
    ...between(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...marked('same', old.slice(old.length - end))
  ]
}

/** Compares by longest common subsequence. */
function between (old: readonly string[], next: readonly string[]): Line[] {
  if (old.length * next.length > maxPairs) return [...marked('removed', old), ...marked('added', next)]
  const width = next.length + 1
  const common = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = next.length - 1; j >= 0; j--) {
      common[i * width + j] =
        old[i] === next[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0)
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < old.length && j < next.length) {
    const [removed = '', added = ''] = [old[i], next[j]]
    if (removed === added) {
      lines.push({ kind: 'same', text: removed })
      i++
      j++
    } else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)) {
      lines.push({ kind: 'removed', text: removed })
      i++
    } else {
      lines.push({ kind: 'added', text: added })
      j++
    }
  }
  return [...lines, ...marked('removed', old.slice(i)), ...marked('added', next.slice(j))]
}

function marked (kind: Line['kind'], lines: readonly string[]): Line[] {
  return lines.map(text => ({ kind, text }))
}
