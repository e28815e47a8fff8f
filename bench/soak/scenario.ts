/**
 * Defines a soak scenario: it runs for a limited time, and reports its measurements and which promises were
 * kept.
 */

export interface Finding {
  /** The promise: `no row is lost`. */
  readonly promise: string
  readonly kept: boolean
  /** The measurement, in words. */
  readonly measured: string
}

export interface Scenario {
  readonly name: string
  /** @param short about a fifth of the work, for continuous integration */
  readonly run: (short: boolean) => Promise<readonly Finding[]>
}

/** Returns a promise and whether it was kept. */
export function finding (promise: string, kept: boolean, measured: string): Finding {
  return { promise, kept, measured }
}

/** Runs `work` for the numbers from 0, at most `width` at once. */
export async function each (
  count: number,
  width: number,
  work: (number: number) => Promise<void>
): Promise<void> {
  let next = 0
  await Promise.all(Array.from({ length: Math.min(width, count) }, async () => {
    while (next < count) await work(next++)
  }))
}

/** Polls until it is true; returns false at the deadline. */
export async function eventually (
  condition: () => boolean | Promise<boolean>,
  ms = 10_000
): Promise<boolean> {
  const endMs = performance.now() + ms
  while (!await condition()) {
    if (performance.now() > endMs) return false
    await new Promise(resolve => { setTimeout(resolve, 5) })
  }
  return true
}

/** Returns a generator of numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seeded (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
