import { isObject } from '../json/type-guards.ts'

/**
 * Restores JSON Schema keywords that clients have renamed.
 *
 * Official clients of this API convert every key of a body to snake_case, including tool schemas: `anyOf`
 * arrives as `any_of`, which providers reject or ignore. Keywords only count in schema position; the same
 * word as a property name, or inside a default, stays.
 *
 *     repairSchemaKeywords({ any_of: [{ properties: { any_of: { max_length: 3 } } }] })
 *     // { anyOf: [{ properties: { any_of: { maxLength: 3 } } }] }
 */

/** Keywords whose value is a schema, a list of schemas, or a map of schemas. */
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
 * Returns the schema with keywords in standard spelling; usually the same object, because nothing needs
 * repair. If both spellings are present, the standard one wins. Unknown keywords stay.
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
  // Unlike assignment, this also creates an own key `__proto__`. The result is still a schema of type `T`.
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

/** A schema may be `true` or `false`; `dependencies` may list properties instead. */
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
