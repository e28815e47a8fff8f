import { visitFields } from './visit-fields.ts'

/**
 * Finds one of some fields anywhere in a value, at any depth.
 *
 * @param names of the fields; one that is null counts as absent
 * @param skipped fields whose values are not looked through
 * @returns its name; `undefined` when there is none
 */
export function namesField (value: unknown, names: ReadonlySet<string>, skipped: ReadonlySet<string>): string | undefined {
  let found: string | undefined
  visitFields(value, skipped, (name, field) => {
    if (!names.has(name) || field === null) return false
    found = name
    return true
  })
  return found
}
