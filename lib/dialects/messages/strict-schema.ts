import { isObject } from '../../json/type-guards.ts'

/** Deeper than any provider accepts; deeper levels are not checked. */
const maxDepth = 20

/**
 * Returns true for a JSON schema that providers can enforce strictly: every object requires all its
 * properties and allows no others.
 */
export function isStrict (schema: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false
  if (Array.isArray(schema)) return schema.every(part => isStrict(part, depth + 1))
  if (!isObject(schema)) return true
  if (schema['type'] === 'object' || isObject(schema['properties'])) {
    const properties = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
    if (schema['additionalProperties'] !== false || !properties.every(name => required.has(name))) {
      return false
    }
  }
  return (
    ['properties', '$defs', 'definitions'].every(
      key => !isObject(schema[key]) || Object.values(schema[key]).every(part => isStrict(part, depth + 1))
    ) && ['items', 'anyOf', 'allOf', 'oneOf', 'prefixItems'].every(key => isStrict(schema[key], depth + 1))
  )
}
