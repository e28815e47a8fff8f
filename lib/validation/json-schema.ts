/** The keywords of JSON Schema that our TypeBox schemas use, and functions on them. */

export interface JsonSchema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  /** Only as `{}`: the field must be absent. */
  readonly not?: object
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly propertyNames?: JsonSchema
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly contentMediaType?: string
}

/** Returns the values that a `const` or `enum` allows; undefined for every other schema. */
export function literals (schema: JsonSchema | undefined): readonly unknown[] | undefined {
  if (schema?.enum !== undefined) return schema.enum
  return schema !== undefined && 'const' in schema ? [schema.const] : undefined
}

/**
 * Returns the branches of a schema, including those of nested unions. A schema without branches is its own
 * branch.
 */
export function branchesOf (schema: JsonSchema): readonly JsonSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(branchesOf)
}

/** Returns the JSON type of a value; `number` for integers as well. */
export function typeOf (value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Returns true if a value has the JSON type of a schema without branches. */
export function fits (schema: JsonSchema, value: unknown): boolean {
  const type = typeOf(value)
  if (schema.type !== undefined) {
    return schema.type === type || (schema.type === 'integer' && type === 'number')
  }
  return literals(schema)?.some(literal => typeOf(literal) === type) ?? true
}
