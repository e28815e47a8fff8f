import { isObject } from './type-guards.ts'

/**
 * Visits each field of each object in a value, at any depth, until a visit returns true.
 *
 * @param skipped fields whose values are not visited
 * @returns true if a visit returned true
 */
export function visitFields (
  value: unknown,
  skipped: ReadonlySet<string>,
  visit: (name: string, field: unknown) => boolean
): boolean {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (Array.isArray(next)) {
      for (const item of next) open.push(item)
    } else if (isObject(next)) {
      for (const name in next) {
        const field = next[name]
        if (visit(name, field)) return true
        if (!skipped.has(name)) open.push(field)
      }
    }
  }
  return false
}
