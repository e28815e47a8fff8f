import { setFlagsFromString } from 'node:v8'

/** Sets a flag of V8, as `--name` or `--name=value`, unless the operator has set it. */
export function setV8Flag (flag: string): void {
  const [name = flag] = flag.split('=')
  if (!isGiven([name])) setFlagsFromString(flag)
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
