/**
 * Writes the provider's own objects in one spelling.
 *
 * Callers write them in camelCase, as the provider documents them, or in snake_case, because their
 * client converts every key of a body. The provider takes both, but not both for one field.
 *
 *     camelKeys({ thinking_config: { thinking_budget: 0 } }) // { thinkingConfig: { thinkingBudget: 0 } }
 */

import { camelName } from '../../chat/generation-fields.ts'
import { repairSchemaKeywords } from '../../chat/schema-keywords.ts'
import { objectOf } from '../../json/guards.ts'

type AnyObject = Readonly<Record<string, unknown>>

/** In them stand names and data of the caller, which must not be respelled. */
const schemas = new Set(['responseSchema', 'responseJsonSchema'])

/** Returns a copy with every key in camelCase; of JSON Schemas, the keywords only. */
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
