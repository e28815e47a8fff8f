import type { Test } from 'tap'

/** Counts ticks of the event loop from now on. */
export function countTurns (t: Test): () => number {
  let turns = 0
  let next = setImmediate(function count () {
    turns++
    next = setImmediate(count)
  })
  t.teardown(() => clearImmediate(next))
  return () => turns
}

/** Waits for so many ticks of the event loop. */
export async function turns (count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => { setImmediate(resolve) })
}
