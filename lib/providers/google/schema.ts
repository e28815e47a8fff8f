/**
 * Converts JSON Schemas of functions and answers to Gemini's subset.
 *
 * `parametersJsonSchema` and `responseJsonSchema` have a list of keywords. Some models ignore others and some
 * reject them, so they are dropped. `const`, `allOf`, `definitions` and tuples are rewritten with listed
 * keywords. Keywords only count in schema position: a property may be called `const` or `$schema`.
 *
 * @see https://ai.google.dev/api/caching#FunctionDeclaration
 */

import { GatewayError } from '../../core/errors.ts'
import { repairSchemaKeywords } from '../../chat/schema-keywords.ts'
import { isContainer, isList, objectOf } from '../../json/type-guards.ts'

type Schema = Record<string, unknown>

const kept = new Set([
  '$id', '$anchor', 'type', 'format', 'title', 'description', 'enum', 'minItems', 'maxItems',
  'minimum', 'maximum', 'required', 'propertyOrdering'
])

/**
 * Maximum keywords after expansion of references and branches, for all schemas of a request: about 20 ms of
 * work.
 */
const maxSteps = 20_000

/** Maximum depth of references, which protects the stack; no hand-written schema comes near. */
const maxReferences = 100

/** Counts the keywords of expanded schemas: a few references can expand without limit. */
export class Steps {
  #left = maxSteps

  /** @throws GatewayError `invalid_value` if the request exceeds its limit */
  take (count: number, param: string): void {
    this.#left -= count
    if (this.#left >= 0) return
    throw new GatewayError('invalid_value', {
      message: `The schemas have more than ${maxSteps} keywords. Use fewer or smaller ones.`,
      param
    })
  }
}

/**
 * Returns the parameters of a function for the provider; `undefined` if it has none.
 *
 * @param param location of the schema in the request, for the error
 * @param steps bounds the work for all schemas of a request
 * @throws GatewayError `invalid_value` if the schema does not describe an object, or too few steps are left
 */
export function functionSchema (
  parameters: Readonly<Schema>,
  param: string,
  steps = new Steps()
): Schema | undefined {
  const clean = cleanSchema(parameters, param, steps, root => {
    if ([root['type'] ?? 'object'].flat().map(lowerCase).includes('object')) {
      return { ...root, type: 'object' }
    }
    throw new GatewayError('invalid_value', {
      message: 'The parameters of a function must be an object.',
      param
    })
  })
  return describesSomething(clean) ? clean : undefined
}

/**
 * Returns the schema of an answer for the provider.
 *
 * @param param location of the schema in the request, for the error
 * @throws GatewayError `invalid_value` if the schema is too large
 */
export function answerSchema (schema: Readonly<Schema>, param: string): Schema {
  return cleanSchema(schema, param, new Steps(), root => root)
}

function cleanSchema (
  schema: Readonly<Schema>,
  param: string,
  steps: Steps,
  fitRoot: (root: Schema) => Schema
): Schema {
  const given = repairSchemaKeywords(schema)
  const definitions = { ...objectOf(given['definitions']), ...objectOf(given['$defs']) }
  const schemas = new Schemas(given, definitions, steps, param)
  // Some generators put the entire schema into the definitions and reference it.
  const clean = schemas.clean(fitRoot(schemas.flat(given)))
  const cleanDefinitions = Object.entries(definitions).map(([name, schema]) => [name, schemas.clean(schema)])
  if (schemas.refersToRoot) cleanDefinitions.push([schemas.rootName, { ...clean }])
  if (cleanDefinitions.length > 0) clean['$defs'] = Object.fromEntries(cleanDefinitions)
  return clean
}

function describesSomething (schema: Schema): boolean {
  return Object.keys(objectOf(schema['properties']) ?? {}).length > 0 ||
    schema['anyOf'] !== undefined || schema['oneOf'] !== undefined ||
    objectOf(schema['additionalProperties']) !== undefined
}

class Schemas {
  /** The name of the whole schema among the definitions, for the reference `#`. */
  readonly rootName: string
  refersToRoot = false
  readonly #definitions: Schema
  readonly #names: Names
  readonly #steps: Steps
  readonly #param: string
  /** Definitions with their references resolved. An unfinished entry refers to itself and adds nothing. */
  readonly #flat = new Map<string, Schema>()
  #openReferences = 0

  /** References being expanded: a recursive one adds nothing. */
  readonly #open = new Set<string>()
  readonly #root: Schema

  constructor (root: Schema, definitions: Schema, steps: Steps, param: string) {
    this.#root = root
    this.#definitions = definitions
    this.#names = new Names(Object.keys(definitions))
    let rootName = 'root'
    while (Object.hasOwn(definitions, rootName)) rootName += '_'
    this.rootName = rootName
    this.#steps = steps
    this.#param = param
  }

  clean (value: unknown): Schema {
    // `true` allows everything; `false` cannot be expressed.
    const given = objectOf(value)
    if (given === undefined) return {}
    this.#steps.take(1, this.#param)
    const reference = loneReference(given)
    if (reference !== undefined) return this.#reference(reference, given)
    const result: Schema = {}
    this.#steps.take(sizeOf(given), this.#param)
    const flat = this.flat(given)
    for (const [key, inner] of Object.entries(flat)) this.#cleanKeyword(result, key, inner)
    const isArray = [result['type']].flat().includes('array')
    if (isArray && result['items'] === undefined && result['prefixItems'] === undefined) result['items'] = {}
    if (isOtherThanObject(result['type'])) dropObjectKeywords(result)
    alignRequired(result)
    const { enum: members } = flat
    return isList(members) && members.includes(null) ? orNull(result, members) : result
  }

  /** Merges a schema, its reference and its `allOf` branches; the schema's own keywords win. */
  flat (schema: Schema): Schema {
    const { $ref: reference, allOf, ...own } = schema
    let result = own
    if (typeof reference === 'string') result = this.#merged(result, this.#target(reference))
    for (const branch of Array.isArray(allOf) ? allOf : []) {
      result = this.#merged(result, this.flat(objectOf(branch) ?? {}))
    }
    return result
  }

  #target (reference: string): Schema {
    const name = this.#definitionName(reference)
    const target = name === undefined ? undefined : objectOf(this.#definitions[name])
    if (name === undefined || target === undefined) return {}
    const cached = this.#flat.get(name)
    if (cached !== undefined) return cached
    if (++this.#openReferences > maxReferences) {
      throw new GatewayError('invalid_value', {
        message: `The schemas have more than ${maxReferences} nested references. Use fewer.`,
        param: this.#param
      })
    }
    this.#flat.set(name, {})
    const flat = this.flat(target)
    this.#openReferences--
    this.#flat.set(name, flat)
    return flat
  }

  #merged (first: Schema, second: Schema): Schema {
    this.#steps.take(sizeOf(first) + sizeOf(second), this.#param)
    return mergeTwo(first, second)
  }

  #cleanKeyword (result: Schema, key: string, inner: unknown): void {
    switch (key) {
      case 'type':
        result['type'] = Array.isArray(inner) ? inner.map(lowerCase) : lowerCase(inner)
        break
      case 'const':
        if (inner === null) result['type'] = 'null'
        else this.#cleanKeyword(result, 'enum', [inner])
        break
      case 'enum': {
        // Empty strings and null are not allowed here; the other members stay, and null becomes a branch.
        const members = Array.isArray(inner) ? inner.filter(member => member !== '' && member !== null) : []
        if (members.length > 0) result['enum'] = members
        break
      }
      case 'properties':
        result['properties'] = Object.fromEntries(
          Object.entries(objectOf(inner) ?? {}).map(([name, schema]) => [name, this.clean(schema)])
        )
        break
      case 'items':
        // Older drafts write a tuple as a list of schemas.
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

  /** Rewrites a reference; the node may contain nothing else but a description. */
  #reference (reference: string, { description }: Schema): Schema {
    if (reference === '#') this.refersToRoot = true
    const name = reference === '#' ? this.rootName : this.#definitionName(reference)
    const words = typeof description === 'string' ? { description } : {}
    if (name !== undefined) return { $ref: `#/$defs/${name}`, ...words }
    // A reference into another schema is expanded, because rewriting removes its target.
    const target = this.#open.has(reference) ? undefined : this.#targetAt(reference)
    if (target === undefined) return words
    this.#open.add(reference)
    const written = { ...this.clean(target), ...words }
    this.#open.delete(reference)
    return written
  }

  /** Resolves a pointer into the schema. */
  #targetAt (reference: string): Schema | undefined {
    if (!reference.startsWith('#/')) return objectOf(this.#anchors().get(reference.slice(1)))
    let value: unknown = this.#root
    for (const step of reference.slice(2).split('/')) {
      value = isContainer(value)
        ? Reflect.get(value, decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
        : undefined
    }
    return objectOf(value)
  }

  #anchors (): ReadonlyMap<string, Schema> {
    const found = new Map<string, Schema>()
    for (const schema of Object.values(this.#definitions)) {
      const anchor = objectOf(schema)?.['$anchor']
      if (typeof anchor === 'string') found.set(anchor, objectOf(schema) ?? {})
    }
    return found
  }

  /** Returns the definition; clients that convert keys rename it, but not the reference. */
  #definitionName (reference: string): string | undefined {
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(reference)?.[1]
    return name === undefined ? undefined : this.#names.like(name)
  }
}

/**
 * Returns the reference of a node that is only a reference, possibly wrapped in `allOf` for a description.
 */
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

/** Counts the keywords, properties and required names of a schema, without its inner schemas. */
function sizeOf (schema: Schema): number {
  const { properties, required } = schema
  let size = 1
  for (const _ in schema) size++
  for (const _ in objectOf(properties)) size++
  return size + (Array.isArray(required) ? required.length : 0)
}

/**
 * Returns a schema that allows null as well, which cannot be a member of an enum.
 *
 * @param schema without the members that the provider refuses
 * @param members all of them
 */
function orNull (schema: Schema, members: readonly unknown[]): Schema {
  const { type, title, description, ...rest } = schema
  const texts = { ...title !== undefined && { title }, ...description !== undefined && { description } }
  if (members.every(member => member === null)) return { type: 'null', ...texts }
  if (rest['enum'] === undefined) return schema
  const [first, ...others] = [type ?? []].flat().filter(name => name !== 'null')
  const named = first === undefined ? {} : { type: others.length === 0 ? first : [first, ...others] }
  return { ...texts, anyOf: [{ ...named, ...rest }, { type: 'null' }] }
}

function isOtherThanObject (type: unknown): boolean {
  return type !== undefined && ![type].flat().includes('object')
}

/** Drops object keywords from other types, where the provider rejects them. */
function dropObjectKeywords (schema: Schema): void {
  // our own object, just created
  for (const keyword of ['properties', 'required', 'additionalProperties', 'propertyOrdering']) {
    delete schema[keyword]
  }
}

/** Makes `required` match the properties, if a client renamed only the latter. */
function alignRequired (schema: Schema): void {
  if (!Array.isArray(schema['required'])) return
  const names = new Names(Object.keys(objectOf(schema['properties']) ?? {}))
  const required = schema['required'].flatMap((name: unknown) =>
    typeof name === 'string' ? (names.like(name) ?? []) : []
  )
  if (required.length > 0) schema['required'] = [...new Set(required)]
  else delete schema['required'] // our own object, just created
}

/** Finds a name, ignoring case and underscores if there is no exact match. */
class Names {
  readonly #names: ReadonlySet<string>
  /** Built on the first inexact lookup. */
  #bare: ReadonlyMap<string, string> | undefined

  constructor (names: readonly string[]) {
    this.#names = new Set(names)
  }

  like (name: string): string | undefined {
    if (this.#names.has(name)) return name
    this.#bare ??= new Map([...this.#names].toReversed().map(known => [bare(known), known]))
    return this.#bare.get(bare(name))
  }
}

function bare (name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

function lowerCase (type: unknown): unknown {
  return typeof type === 'string' ? type.toLowerCase() : type
}
