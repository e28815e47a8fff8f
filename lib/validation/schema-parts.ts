/** Reads the parts of a JSON schema that matter where configuration values are walked along with it. */

import { secretReference } from '../../schemas/config/secret.ts'
import { isObject } from '../json/guards.ts'

/** Returns true for the schema of an entry that names where a secret is. */
export function isSecretSchema (schema: unknown): boolean {
  return isObject(schema) && schema.pattern === secretReference
}

/** Returns the schemas of known entries by name; nothing for a map with names of the operator's choice. */
export function propertySchemas (schema: unknown): Record<string, unknown> | undefined {
  return isObject(schema) && isObject(schema.properties) ? schema.properties : undefined
}

/**
 * Returns the schema of the items of a list, or of the entries of a map with names of the operator's choice.
 */
export function valueSchema (schema: unknown): unknown {
  if (!isObject(schema)) return undefined
  return (
    schema.items ??
    (isObject(schema.patternProperties) ? Object.values(schema.patternProperties)[0] : undefined)
  )
}
