import type { TSchema } from 'typebox'
import { isContainer, isObject } from '../json/type-guards.ts'
import type { JsonSchema } from './json-schema.ts'

interface Defaulted extends JsonSchema {
  readonly default?: unknown
}

/**
 * Fills in missing values for which the schema has a default, at every depth and in place, like Ajv's
 * `useDefaults`: in properties, in the values of maps and in the items of lists, but not in the branches of a
 * union. Values that do not match the schema are left unchanged.
 */
export function fillDefaults (schema: TSchema, value: unknown): void {
  fill(schema, value)
}

function fill (schema: JsonSchema, value: unknown): void {
  for (const part of schema.allOf ?? []) fill(part, value)
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) fill(schema.items, item)
  } else if (isObject(value)) fillObject(schema, value)
}

function fillObject (
  { properties = {}, patternProperties = {}, additionalProperties }: JsonSchema,
  value: Record<string, unknown>
): void {
  for (const [name, property] of Object.entries<Defaulted>(properties)) {
    if (value[name] === undefined && property.default !== undefined) value[name] = copyOf(property.default)
    fill(property, value[name])
  }
  const patterns = Object.entries(patternProperties).map(([pattern, entry]) => ({
    matches: new RegExp(pattern, 'u'),
    entry
  }))
  for (const name of Object.keys(value)) {
    const matching = patterns.filter(({ matches }) => matches.test(name))
    for (const { entry } of matching) fill(entry, value[name])
    if (matching.length > 0 || Object.hasOwn(properties, name)) continue
    if (typeof additionalProperties === 'object') fill(additionalProperties, value[name])
  }
}

/** Copies a map or a list, since a later reader may change it. */
function copyOf (value: unknown): unknown {
  return isContainer(value) ? structuredClone(value) : value
}
