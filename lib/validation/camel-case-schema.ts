/** Renames values of the configuration to the names used in code, following their schema. */

import type { Static, TSchema } from 'typebox'
import type { CamelCase, CamelCased } from '../core/camel-cased.ts'
import type { Secret } from '../core/secret.ts'
import { isObject } from '../json/type-guards.ts'
import { valueSchema, isSecretSchema, propertySchemas } from './schema-parts.ts'

/**
 * Renames the entries of a value at every depth, and replaces references to secrets with the secrets.
 *
 * @param value matches the schema
 */
export function camelCased<T extends TSchema> (
  schema: T, value: Static<T>, secret: (reference: string) => Secret = refuse
): CamelCased<Static<T>> {
  const walk = (schema: unknown, value: unknown): unknown => {
    if (isSecretSchema(schema) && typeof value === 'string') return secret(value)
    if (Array.isArray(value)) return value.map((item: unknown) => walk(valueSchema(schema), item))
    if (!isObject(value)) return value
    const properties = propertySchemas(schema)
    if (properties === undefined) return mapValues(value, entry => walk(valueSchema(schema), entry))
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [camelCase(name), walk(properties[name], entry)])
    )
  }
  return walk(schema, value) as CamelCased<Static<T>> // the type of names describes what `walk` does
}

/** Stands in for schemas without secrets. */
function refuse (): never {
  throw new Error('a secret where none is expected')
}

/** Returns a name of the configuration as a name in code: `per_minute` as `perMinute`. */
export function camelCase<Name extends string> (name: Name): CamelCase<Name> {
  // as the type does
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>
}

function mapValues (
  map: Readonly<Record<string, unknown>>,
  change: (value: unknown) => unknown
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]))
}
