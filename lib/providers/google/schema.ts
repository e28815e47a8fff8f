/**
 * JSON Schemas of functions, in the subset Gemini takes.
 *
 * `parametersJsonSchema` knows a list of keywords; others are ignored by some models and refused
 * by others, so they are left out. What can be said with the listed ones is rewritten: `const`,
 * `allOf`, `definitions`, tuples. Keywords are keywords in schema position only: a property may
 * be called `const` or `$schema`.
 *
 * @see https://ai.google.dev/api/caching#FunctionDeclaration
 */

import { GatewayError } from '../../core/errors.ts'
import { repairSchemaKeywords } from '../../chat/schema-keywords.ts'
import { objectOf } from '../../json/guards.ts'

type Schema = Record<string, unknown>

const kept = new Set([
  '$id', '$anchor', 'type', 'format', 'title', 'description', 'enum', 'minItems', 'maxItems',
  'minimum', 'maximum', 'required', 'propertyOrdering'
])

/**
 * The parameters of a function for the provider, or `undefined` for a function without any.
 *
 * @param param where the schema stands in the request, for the error
 * @throws GatewayError `invalid_value` when the schema describes something else than an object
 */
export function functionSchema (parameters: Readonly<Schema>, param: string): Schema | undefined {
  const given = repairSchemaKeywords(parameters)
  const definitions = { ...objectOf(given['definitions']), ...objectOf(given['$defs']) }
  const schemas = new Schemas(definitions)
  // Generators like to put the whole schema among the definitions and refer to it.
  const root = schemas.flat(given)
  if (![root['type'] ?? 'object'].flat().map(lowerCase).includes('object')) {
    throw new GatewayError('invalid_value', { message: 'The parameters of a function are an object.', param })
  }
  const clean = schemas.clean({ ...root, type: 'object' })
  if (!describesSomething(clean)) return undefined
  const names = Object.entries(definitions)
  if (names.length > 0) {
    clean['$defs'] = Object.fromEntries(names.map(([name, schema]) => [name, schemas.clean(schema)]))
  }
  return clean
}

function describesSomething (schema: Schema): boolean {
  return Object.keys(objectOf(schema['properties']) ?? {}).length > 0 ||
    schema['anyOf'] !== undefined || schema['oneOf'] !== undefined ||
    objectOf(schema['additionalProperties']) !== undefined
}

class Schemas {
  readonly #definitions: Schema
  /** References being merged into their place, against schemas that contain themselves. */
  readonly #merging = new Set<string>()

  constructor (definitions: Schema) {
    this.#definitions = definitions
  }

  clean (value: unknown): Schema {
    // `true` allows everything, and there is no way to say `false`.
    const given = objectOf(value)
    if (given === undefined) return {}
    const reference = loneReference(given)
    if (reference !== undefined) return this.#reference(reference, given['description'])
    const result: Schema = {}
    for (const [key, inner] of Object.entries(this.flat(given))) this.#cleanKeyword(result, key, inner)
    const isArray = [result['type']].flat().includes('array')
    if (isArray && result['items'] === undefined && result['prefixItems'] === undefined) result['items'] = {}
    alignRequired(result)
    return result
  }

  /** The schema, what it refers to and all branches of its `allOf` as one; its own words win. */
  flat (schema: Schema): Schema {
    const { $ref: reference, allOf, ...own } = schema
    let result = own
    if (typeof reference === 'string') result = mergeTwo(result, this.#target(reference))
    for (const branch of Array.isArray(allOf) ? allOf : []) result = mergeTwo(result, this.flat(objectOf(branch) ?? {}))
    return result
  }

  #target (reference: string): Schema {
    const name = this.#definitionName(reference)
    const target = name === undefined ? undefined : objectOf(this.#definitions[name])
    if (target === undefined || this.#merging.has(reference)) return {}
    this.#merging.add(reference)
    const flat = this.flat(target)
    this.#merging.delete(reference)
    return flat
  }

  #cleanKeyword (result: Schema, key: string, inner: unknown): void {
    switch (key) {
      case 'type':
        result['type'] = Array.isArray(inner) ? inner.map(lowerCase) : lowerCase(inner)
        break
      case 'const':
        result['enum'] = [inner]
        break
      case 'properties':
        result['properties'] = Object.fromEntries(
          Object.entries(objectOf(inner) ?? {}).map(([name, schema]) => [name, this.clean(schema)])
        )
        break
      case 'items':
        // A list of schemas is how older drafts wrote a tuple.
        if (Array.isArray(inner)) result['prefixItems'] = inner.map(schema => this.clean(schema))
        else result['items'] = this.clean(inner)
        break
      case 'anyOf': case 'oneOf': case 'prefixItems':
        if (Array.isArray(inner)) result[key] = inner.map(schema => this.clean(schema))
        break
      case 'additionalProperties':
        result[key] = typeof inner === 'boolean' ? inner : this.clean(inner)
        break
      default:
        if (kept.has(key)) result[key] = inner
    }
  }

  /** A node with a reference may hold nothing else but its description. */
  #reference (reference: string, description: unknown): Schema {
    const name = this.#definitionName(reference)
    return {
      $ref: name === undefined ? reference : `#/$defs/${name}`,
      ...(typeof description === 'string' ? { description } : {})
    }
  }

  /** The definition meant; a client that converts keys has renamed it, but not the reference. */
  #definitionName (reference: string): string | undefined {
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(reference)?.[1]
    return name === undefined ? undefined : nameLike(name, Object.keys(this.#definitions))
  }
}

/** A node that is but a reference: by itself, or in the `allOf` that is used to describe one. */
function loneReference ({ $ref: reference, allOf, properties }: Schema): string | undefined {
  if (typeof reference === 'string') return reference
  if (!Array.isArray(allOf) || allOf.length !== 1 || properties !== undefined) return undefined
  const inner = objectOf(allOf[0])?.['$ref']
  return typeof inner === 'string' ? inner : undefined
}

function mergeTwo (first: Schema, second: Schema): Schema {
  const merged = { ...second, ...first }
  const properties = { ...objectOf(second['properties']), ...objectOf(first['properties']) }
  if (Object.keys(properties).length > 0) merged['properties'] = properties
  if (Array.isArray(first['required']) && Array.isArray(second['required'])) {
    merged['required'] = [...new Set<unknown>([...first['required'], ...second['required']])]
  }
  return merged
}

/** Makes `required` name properties that exist, where a client renamed only the properties. */
function alignRequired (schema: Schema): void {
  const names = Object.keys(objectOf(schema['properties']) ?? {})
  if (names.length === 0 || !Array.isArray(schema['required'])) return
  schema['required'] = schema['required'].map((name: unknown) =>
    typeof name === 'string' ? nameLike(name, names) ?? name : name)
}

/** The name itself if it is there, else the one that differs in case and underscores only. */
function nameLike (name: string, names: readonly string[]): string | undefined {
  return names.includes(name) ? name : names.find(other => bare(other) === bare(name))
}

function bare (name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

function lowerCase (type: unknown): unknown {
  return typeof type === 'string' ? type.toLowerCase() : type
}
