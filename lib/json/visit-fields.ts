import { isContainer, isObject } from './type-guards.ts'

/** An object or a list within a visited value. */
export interface VisitedPlace {
  readonly value: unknown
  /** Its name or index in `within`; absent for the value itself. */
  readonly step?: string | number
  readonly within?: VisitedPlace
}

/**
 * Visits each field of each object in a value, at any depth, until a visit returns true. Outer fields come
 * before inner ones.
 *
 * @param skipped fields whose values are not visited
 * @param visit gets a field, and the object that has it
 * @returns true if a visit returned true
 */
export function visitFields (
  value: unknown,
  skipped: ReadonlySet<string>,
  visit: (name: string, field: unknown, of: VisitedPlace) => boolean
): boolean {
  const places: VisitedPlace[] = [{ value }]
  for (const place of places) {
    if (Array.isArray(place.value)) {
      for (const [step, item] of place.value.entries()) {
        if (isContainer(item)) places.push({ value: item, step, within: place })
      }
    } else if (isObject(place.value)) {
      for (const step in place.value) {
        const field = place.value[step]
        if (visit(step, field, place)) return true
        if (isContainer(field) && !skipped.has(step)) places.push({ value: field, step, within: place })
      }
    }
  }
  return false
}

/** Returns the path of a field: `input[1].content[0].file_id`. */
export function pathOfField (name: string, of: VisitedPlace): string {
  let path = name
  for (let place: VisitedPlace | undefined = of; place?.step !== undefined; place = place.within) {
    const separator = path.startsWith('[') ? '' : '.'
    path = (typeof place.step === 'number' ? `[${place.step}]` : place.step) + separator + path
  }
  return path
}
