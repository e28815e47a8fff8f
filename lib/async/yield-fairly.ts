/**
 * Work on large bodies, one piece per turn of the event loop for all callers together: twenty documents of
 * 67 MB at once would otherwise hold up every other call for tenths of a second.
 */

const waiting: Array<() => void> = []

/**
 * Resolves in a turn of the event loop in which no other caller was let through, first come, first served.
 */
export async function yieldFairly (): Promise<void> {
  await new Promise<void>(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(letOneThrough)
  })
}

function letOneThrough (): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(letOneThrough)
}
