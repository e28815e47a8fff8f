/**
 * Runs work on large bodies one piece per tick, over all callers: twenty documents of 67 MB at once would
 * otherwise delay every other call by tenths of a second.
 */

const waiting: Array<() => void> = []

/** Resolves in a tick reserved for this caller, first come, first served. */
export async function yieldFairly (): Promise<void> {
  await new Promise<void>(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(letOneThrough)
  })
}

function letOneThrough (): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(letOneThrough)
}
