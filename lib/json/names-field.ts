import { isObject } from './guards.ts'

/**
 * Finds one of some fields anywhere in a value, at any depth.
 *
 * @param names of the fields; one that is null counts as absent
 * @param skipped fields whose values are not looked through
 * @returns its name; `undefined` when there is none
 */
export function namesField (value: unknown, names: ReadonlySet<string>, skipped: ReadonlySet<string>): string | undefined {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (Array.isArray(next)) {
      for (const item of next) open.push(item)
    } else if (isObject(next)) {
      for (const name in next) {
        const field = next[name]
        if (names.has(name) && field !== null) return name
        if (!skipped.has(name)) open.push(field)
      }
    }
  }
  return undefined
}
