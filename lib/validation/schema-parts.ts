/** Reads the parts of a JSON schema that are needed when it is walked together with configuration values. */

import { secretReference } from '../../schemas/config/secret.ts'
import { isObject } from '../json/type-guards.ts'

/** Returns true for the schema of an entry that tells where a secret is. */
export function isSecretSchema (schema: unknown): boolean {
  return isObject(schema) && schema.pattern === secretReference
}

/** Returns the schemas of known entries by name; none for a map whose names the operator chooses. */
export function propertySchemas (schema: unknown): Record<string, unknown> | undefined {
  return isObject(schema) && isObject(schema.properties) ? schema.properties : undefined
}

/** Returns the schema of the items of a list, or of the entries of a map whose names the operator chooses. */
export function valueSchema (schema: unknown): unknown {
  if (!isObject(schema)) return undefined
  return (
    schema.items ??
    (isObject(schema.patternProperties) ? Object.values(schema.patternProperties)[0] : undefined)
  )
}
