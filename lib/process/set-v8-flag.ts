import { setFlagsFromString } from 'node:v8'

/** One map for each process: what loads the bundle is a copy of this module outside of it. */
const shared: Partial<Record<symbol, Map<string, string>>> = globalThis
/** The flags set here, by their names: V8 has no way to read them. */
const current = shared[Symbol.for('headgate.v8-flags')] ??= new Map<string, string>()

/** Sets a flag of V8, as `--name` or `--name=value`, unless the operator has set it. */
export function setV8Flag (flag: string): void {
  const name = bare(flag)
  if (current.get(name) === flag || isGiven([name])) return
  current.set(name, flag)
  setFlagsFromString(flag)
}

/** Calls the function with those of these flags that have been set here, and sets them afterwards to what they were before. */
export function withV8Flags<T> (flags: readonly string[], make: () => T): T {
  const changed = flags.filter(flag => current.has(bare(flag)))
  const before = changed.flatMap(flag => current.get(bare(flag)) ?? [])
  changed.forEach(setV8Flag)
  try {
    return make()
  } finally {
    before.forEach(setV8Flag)
  }
}

/**
 * Returns whether the process was started with one of these flags, on its command line or in `NODE_OPTIONS`.
 *
 * @param names as V8 prints them, `--max-semi-space-size`
 */
export function isGiven (names: readonly string[]): boolean {
  const given = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)]
  // V8 also takes underscores, and `--no-` in front of the name.
  return given.some(option => names.some(name => bare(option) === bare(name)))
}

function bare (option: string): string {
  return (option.split('=')[0] ?? option).replaceAll('_', '-').replace(/^--no-/, '--')
}
