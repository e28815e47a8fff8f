/**
 * Converts Gemini-specific objects to one spelling.
 *
 * Callers use camelCase, as documented, or snake_case if their client converts all keys. The provider accepts
 * both, but not for the same field.
 *
 *     camelKeys({ thinking_config: { thinking_budget: 0 } }) // { thinkingConfig: { thinkingBudget: 0 } }
 */

import { camelName } from '../../chat/generation-fields.ts'
import { repairSchemaKeywords } from '../../chat/schema-keywords.ts'
import { objectOf } from '../../json/type-guards.ts'

type AnyObject = Readonly<Record<string, unknown>>

/** Names and data in these belong to the caller and must not be converted. */
const schemas = new Set(['responseSchema', 'responseJsonSchema'])

/** Returns a copy with all keys in camelCase; in JSON Schemas, only the keywords. */
export function camelKeys (object: AnyObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => {
    const key = camelName(name)
    const schema = schemas.has(key) ? objectOf(value) : undefined
    return [key, schema === undefined ? insideOf(value) : repairSchemaKeywords(schema)]
  }))
}

function insideOf (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(insideOf)
  const object = objectOf(value)
  return object === undefined ? value : camelKeys(object)
}
