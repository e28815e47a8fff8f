import { isObject } from '../json/guards.ts'

/**
 * JSON Schema keywords as callers meant them.
 *
 * Official clients of this API rewrite every key of a body to snake_case, at any depth, tool
 * schemas included: `anyOf` arrives as `any_of`, and providers refuse or overlook it. A keyword is
 * a keyword only where a schema stands; the same word as the name of a property, or inside a
 * default, is the caller's own and stays.
 *
 *     repairSchemaKeywords({ any_of: [{ properties: { any_of: { max_length: 3 } } }] })
 *     // { anyOf: [{ properties: { any_of: { maxLength: 3 } } }] }
 */

/** Says how the value of a keyword is read: a schema or a list of them, or schemas by name. */
const holdsSchemas = new Set([
  'items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains',
  'additionalProperties', 'unevaluatedProperties', 'propertyNames',
  'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'contentSchema'
])
const holdsNamedSchemas = new Set([
  'properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'
])
const otherCamelCased = [
  'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains',
  'minProperties', 'maxProperties', 'dependentRequired', 'multipleOf', 'exclusiveMinimum',
  'exclusiveMaximum', 'contentEncoding', 'contentMediaType', 'readOnly', 'writeOnly',
  'propertyOrdering', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor'
]

const spellings: ReadonlyMap<string, string> = new Map(
  [...holdsSchemas, ...holdsNamedSchemas, ...otherCamelCased]
    .map(keyword => [snakeCase(keyword), keyword] as const)
    .filter(([snake, keyword]) => snake !== keyword)
)

/**
 * Returns the schema with its keywords in the spelling of the standard; the same object where nothing is to
 * be repaired, which is nearly always. Where a keyword is there in both spellings, the standard's
 * wins. Unknown keywords are kept as they are.
 */
export function repairSchemaKeywords<T extends Readonly<Record<string, unknown>>> (schema: T): T {
  let repaired: Map<string, readonly [keyword: string, value: unknown]> | undefined
  for (const key of Object.keys(schema)) {
    const keyword = spellings.get(key) ?? key
    const value = repairValue(keyword, schema[key])
    if (keyword !== key || value !== schema[key]) (repaired ??= new Map()).set(key, [keyword, value])
  }
  if (repaired === undefined) return schema
  const all = Object.entries(schema).map(
    ([key, value]) => [key, ...(repaired.get(key) ?? [key, value])] as const
  )
  // Unlike an assignment, this makes an own key of `__proto__` too. Still a schema of its kind.
  return Object.fromEntries(
    all.flatMap(([key, keyword, value]) =>
      keyword !== key && Object.hasOwn(schema, keyword) ? [] : [[keyword, value]]
    )
  ) as T
}

function repairValue (keyword: string, value: unknown): unknown {
  if (holdsSchemas.has(keyword)) return repairSchema(value)
  return holdsNamedSchemas.has(keyword) && isObject(value) ? repairNamed(value) : value
}

function repairNamed (schemas: Record<string, unknown>): Record<string, unknown> {
  let repaired: Map<string, unknown> | undefined
  for (const name of Object.keys(schemas)) {
    const schema = repairSchema(schemas[name])
    if (schema !== schemas[name]) (repaired ??= new Map()).set(name, schema)
  }
  return repaired === undefined
    ? schemas
    : Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, repaired.get(name) ?? schema])
      )
}

/** Schemas may also be `true` or `false`; `dependencies` may name properties instead. */
function repairSchema (value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(repairSchema)
    return items.every((item, index) => item === value[index]) ? value : items
  }
  return isObject(value) ? repairSchemaKeywords(value) : value
}

function snakeCase (keyword: string): string {
  return keyword.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
