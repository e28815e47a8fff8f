/**
 * Function schemas in the form that every provider accepts: the root is an object with properties and without
 * unions, and arrays declare their items. One rejected schema would fail every request of an agent, so
 * missing keywords are added, and a union at the root is merged into one object with the properties of all
 * branches. Conditions lost on the way are added to the description.
 */

import { isList, isObject, objectOf, type JsonObject } from '../json/type-guards.ts'
import { repairSchemaKeywords } from './schema-keywords.ts'
import type { FunctionDefinition } from '../../schemas/tools.ts'

type Schema = Readonly<JsonObject>

/** Keywords that providers reject at the root. */
const unions = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else'] as const
/** Longer conditions are only mentioned, not quoted. */
const maxWords = 2000

/** Returns the definition with parameters that providers accept; the same object if nothing changes. */
export function fitFunction (definition: FunctionDefinition): FunctionDefinition {
  const { parameters, description } = definition
  if (parameters === undefined || parameters === null) return definition
  const schema = withItems(repairSchemaKeywords(parameters))
  const { fitted, conditions } = fitRoot(schema)
  if (fitted === parameters) return definition
  const words = Object.keys(conditions).length === 0 ? '' : JSON.stringify(conditions)
  const { strict: _, ...loose } = definition
  if (words === '') return { ...definition, parameters: fitted }
  const condition = words.length > maxWords
    ? 'Not every combination of these arguments is valid.'
    : `The arguments must match this JSON Schema: ${words}`
  return { ...loose, parameters: fitted, description: [description, condition].filter(Boolean).join('\n\n') }
}

/** Returns the root as an object schema, and the keywords removed from it. */
function fitRoot (schema: Schema): { readonly fitted: Schema, readonly conditions: Schema } {
  const isPlain =
    schema['type'] === 'object' &&
    isObject(schema['properties']) &&
    schema['$ref'] === undefined &&
    !unions.some(keyword => schema[keyword] !== undefined)
  if (isPlain) return { fitted: schema, conditions: {} }
  const folder = new Folder(schema)
  const required = folder.fold(schema)
  const properties = folder.properties()
  const target = targetOf(schema['$ref'], schema)
  const rest = { ...target !== undefined && withoutFolded(target), ...withoutFolded(schema) }
  const definitions = Object.keys(rest).filter(
    keyword => keyword !== 'type' && keyword !== '$ref' && !unions.some(union => union === keyword)
  )
  // Keep only required names that are defined as properties.
  const names = [...required].filter(name => Object.hasOwn(properties, name))
  const kept = Object.fromEntries(definitions.map(keyword => [keyword, rest[keyword]]))
  const isObjectType = schema['type'] === undefined || [schema['type']].flat().includes('object')
  return {
    fitted: { ...kept, type: 'object', properties, ...names.length > 0 && { required: names } },
    // `allOf` is not a condition: all branches are merged into the object.
    conditions: {
      ...Object.fromEntries(
        unions
          .filter(keyword => keyword !== 'allOf' && schema[keyword] !== undefined)
          .map(keyword => [keyword, schema[keyword]])
      ),
      ...!isObjectType && { type: schema['type'] }
    }
  }
}

/** Maximum depth of nested branches and references; deeper ones add no properties. */
const maxFolds = 100

/**
 * Merges the properties of a schema and all its branches. A property is required if every branch requires it.
 * Each part is visited once: thousands of branches may define the same property, or require the same ones.
 */
class Folder {
  readonly #root: Schema
  /** Branches may refer to each other: each is merged once. */
  readonly #seen = new Set<Schema>()
  readonly #properties = new Map<string, Definitions>()

  constructor (root: Schema) {
    this.#root = root
  }

  /**
   * Collects the properties of a schema and its branches.
   *
   * @param required receives the names that it requires
   */
  fold (schema: Schema, required = new Set<string>(), depth = 0): ReadonlySet<string> {
    if (this.#seen.has(schema) || depth > maxFolds) return required
    this.#seen.add(schema)
    for (const [name, property] of Object.entries(objectOf(schema['properties']) ?? {})) {
      const known = this.#properties.get(name)
      if (known === undefined) this.#properties.set(name, new Definitions(property))
      else known.add(property)
    }
    for (const name of namesIn(schema['required'])) required.add(name)
    const target = targetOf(schema['$ref'], this.#root)
    for (const branch of [...target === undefined ? [] : [target], ...branchesOf(schema['allOf'])]) {
      this.fold(branch, required, depth + 1)
    }
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const [first, ...others] = branchesOf(schema[keyword])
      if (first === undefined) continue
      if (others.length === 0) this.fold(first, required, depth + 1)
      else {
        const names = this.fold(first, new Set(), depth + 1)
        const rest = others.map(branch => this.fold(branch, new Set(), depth + 1))
        for (const name of names) if (rest.every(set => set.has(name))) required.add(name)
      }
    }
    return required
  }

  properties (): JsonObject {
    return Object.fromEntries(Array.from(this.#properties, ([name, all]) => [name, all.schema()]))
  }
}

/** The definitions of one property, each kept once. */
class Definitions {
  readonly #all: unknown[]
  /** As text; made for the second one, as most properties have one. */
  #texts: Set<string> | undefined

  constructor (first: unknown) {
    this.#all = [first]
  }

  add (definition: unknown): void {
    const text = JSON.stringify(definition)
    this.#texts ??= new Set([JSON.stringify(this.#all[0])])
    if (this.#texts.has(text)) return
    this.#texts.add(text)
    this.#all.push(definition)
  }

  /** Returns a schema that allows what any of them allows. */
  schema (): unknown {
    return this.#all.length === 1 ? this.#all[0] : { anyOf: this.#all }
  }
}

function withoutFolded (schema: Schema): Schema {
  const { properties: _, required: __, ...rest } = schema
  return rest
}

function branchesOf (value: unknown): readonly Schema[] {
  return isList(value) ? value.filter(isObject) : []
}

function namesIn (value: unknown): readonly string[] {
  return isList(value) ? value.filter(name => typeof name === 'string') : []
}

/** Resolves a reference within the schema. */
function targetOf (reference: unknown, root: Schema): Schema | undefined {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  let value: unknown = root
  for (const step of reference.slice(2).split('/')) {
    value = isObject(value)
      ? value[step.replaceAll('~1', '/').replaceAll('~0', '~')]
      : isList(value)
        ? value[Number(step)]
        : undefined
  }
  return objectOf(value)
}

const holdsSchema = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames'
])
const holdsList = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const holdsNamed = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Adds `items` to arrays without it. Returns the same schema if nothing changes. */
function withItems (schema: Schema): Schema {
  const isArray = [schema['type']].flat().includes('array')
  let fresh: JsonObject | undefined =
    isArray && schema['items'] === undefined && schema['prefixItems'] === undefined
      ? { ...schema, items: {} }
      : undefined
  for (const [keyword, value] of Object.entries(schema)) {
    const repaired = holdsSchema.has(keyword)
      ? inner(value)
      : holdsList.has(keyword)
        ? innerOfList(value)
        : holdsNamed.has(keyword)
          ? innerOfNamed(value)
          : value
    if (repaired !== value) (fresh ??= { ...schema })[keyword] = repaired
  }
  return fresh ?? schema
}

function inner (value: unknown): unknown {
  return isObject(value) ? withItems(value) : value
}

function innerOfList (value: unknown): unknown {
  if (!isList(value)) return value
  const items = value.map(inner)
  return items.every((item, index) => item === value[index]) ? value : items
}

function innerOfNamed (value: unknown): unknown {
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, schema]) => [name, inner(schema)] as const)
  return entries.every(([name, schema]) => schema === value[name]) ? value : Object.fromEntries(entries)
}
