/** What an operator may set under `options` of a sandbox provider. */

export interface SandboxOptions {
  /** How fast streams come; 0 is as fast as they are read. Default 50. */
  readonly wordsPerSecond: number
}

/** @throws Error for a value that is not a number, or is negative; at start-up */
export function sandboxOptions (given: Readonly<Record<string, unknown>>): SandboxOptions {
  const { words_per_second: wordsPerSecond = 50 } = given
  if (typeof wordsPerSecond !== 'number' || !(wordsPerSecond >= 0)) {
    throw new Error('The sandbox option words_per_second must be a number, 0 or more.')
  }
  return { wordsPerSecond }
}
