/**
 * One spelling for the provider's own objects.
 *
 * Callers write them in camelCase, as the provider documents them, or in snake_case, because their
 * client converts every key of a body. The provider takes both, but not both for one field.
 *
 *     camelKeys({ thinking_config: { thinking_budget: 0 } }) // { thinkingConfig: { thinkingBudget: 0 } }
 */

import { objectOf } from './wire.ts'

/** Their keys are names the caller chose; what stands under each name is a schema again. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
/** Values, not structure: nothing below them is a key of ours or of JSON Schema. */
const verbatim = new Set(['enum', 'const', 'default', 'example', 'examples', 'required', 'propertyOrdering'])

/** The same value with every key in camelCase, except names and data inside JSON Schemas. */
export function camelKeys (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelKeys)
  const object = objectOf(value)
  return object === undefined ? value : camelKeysOf(object)
}

/** As `camelKeys`, for what is known to be an object. */
export function camelKeysOf (object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(object)) {
    const key = camelCase(name)
    result[key] = verbatim.has(key) ? value : named.has(key) ? withinNames(value) : camelKeys(value)
  }
  return result
}

function withinNames (value: unknown): unknown {
  const object = objectOf(value)
  if (object === undefined) return value
  return Object.fromEntries(Object.entries(object).map(([name, inner]) => [name, camelKeys(inner)]))
}

function camelCase (key: string): string {
  return key.replace(/(?<=.)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
