/** The `options` of a sandbox provider. */

export interface SandboxOptions {
  /** Words per second of streams; 0 means as fast as they are read. Default 50. */
  readonly wordsPerSecond: number
}

/** As the configuration writes them. */
export const sandboxOptionNames: readonly string[] = ['words_per_second']

/** An option with an invalid value. */
export class SandboxOptionError extends Error {
  /** As the configuration writes it. */
  readonly option: string
  /** The rule, as it follows the name in a sentence. */
  readonly rule: string

  constructor (option: string, rule: string) {
    super(`The sandbox option ${option} ${rule}.`)
    this.name = 'SandboxOptionError'
    this.option = option
    this.rule = rule
  }
}

/** @throws SandboxOptionError for a value that is not a number, or is negative */
export function sandboxOptions (given: Readonly<Record<string, unknown>>): SandboxOptions {
  const { words_per_second: wordsPerSecond = 50 } = given
  if (typeof wordsPerSecond !== 'number' || !(wordsPerSecond >= 0)) {
    throw new SandboxOptionError('words_per_second', 'must be a number, 0 or more')
  }
  return { wordsPerSecond }
}
