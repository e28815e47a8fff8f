/** Makes the schema of `headgate.yaml` for completion and validation in editors. */

import { isObject, objectOf } from '../json/type-guards.ts'
import { Config } from '../../schemas/config.ts'

/** Returns plain JSON Schema (draft 7, which every editor supports); a new object each time. */
export function jsonSchema (): Record<string, unknown> {
  const schema = objectOf(withoutDefaulted(Config)) ?? {}
  const properties = objectOf(schema.properties) ?? {}
  const { default: _, description, ...dashboard } = objectOf(properties.dashboard) ?? {}
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...schema,
    properties: {
      ...properties,
      dashboard: { description, default: {}, anyOf: [dashboard, { const: false }] }
    }
  }
}

/** Our schema requires entries with a default, because they exist once it is applied. */
function withoutDefaulted (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDefaulted)
  if (!isObject(schema)) return schema
  const copy = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, withoutDefaulted(value)])
  )
  const { properties, required } = schema
  if (isObject(properties) && Array.isArray(required)) {
    const kept = required.filter(name => !hasDefault(properties[name]))
    if (kept.length > 0) copy.required = kept
    else delete copy.required
  }
  return copy
}

function hasDefault (schema: unknown): boolean {
  return isObject(schema) && Object.hasOwn(schema, 'default')
}
