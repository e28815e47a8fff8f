/**
 * Generates a value that matches a JSON schema, always the same for the same schema.
 *
 * Supports types, `enum`, `const`, `default`, ranges, lengths, `pattern`, `format`, objects, arrays, `$ref`
 * inside the document and `allOf`, and takes the first branch of `anyOf` and `oneOf`. Rules that exclude
 * values (`not`, `if`, `dependentRequired`) are ignored.
 */

import { numberFor } from './number-for.ts'
import { stringFor } from './string-for.ts'
import { numberOf, objectOf, property } from '../json/type-guards.ts'
import type { Schema } from './schema.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import type { Hints } from './hints.ts'

export interface JsonOptions {
  /** True to include optional members as well, unless that would be endless. */
  readonly optional: boolean
  /** Index of the value among several different ones. */
  readonly variant?: number
  /** The words and numbers to fill free strings and numbers with. */
  readonly hints?: Hints
}

// Optional things end here; only what is required goes deeper.
const deep = 4
const deepest = 64
const maxValues = 10_000
/** Keywords and properties that merging references and branches may walk over. */
const maxSteps = 100_000

/** @throws SandboxRefusal 400 for a schema that no finite value fits, or only a huge one */
export function jsonFromSchema (schema: unknown, options: JsonOptions): unknown {
  return new Composer(schema, options).value(schema, { depth: 0, variant: options.variant ?? 0, name: '' })
}

interface ValuePosition {
  readonly depth: number
  readonly variant: number
  /** The property the value is for. */
  readonly name: string
}

class Composer {
  readonly #root: unknown
  readonly #options: JsonOptions
  readonly #strings: string[]
  readonly #numbers: number[]
  readonly #resolved = new Map<string, Schema>()
  #values = 0
  #steps = 0

  constructor (root: unknown, options: JsonOptions) {
    this.#root = root
    this.#options = options
    this.#strings = [...options.hints?.strings ?? []]
    this.#numbers = [...options.hints?.numbers ?? []]
  }

  value (given: unknown, at: ValuePosition): unknown {
    if (++this.#values > maxValues || at.depth > deepest) {
      throw new SandboxRefusal(400, 'The sandbox does not write values as large as this schema requires.', {
        param: 'schema'
      })
    }
    const schema = this.#flat(given, at.depth)
    if ('const' in schema) return schema['const']
    const { enum: values } = schema
    if (Array.isArray(values) && values.length > 0) return this.#oneOf(values, at)
    if ('default' in schema && at.variant === 0) return schema['default']
    switch (typeOf(schema)) {
      case 'object': return this.#object(schema, at)
      case 'array': return this.#array(schema, at)
      case 'integer': return this.#number(schema, at, true)
      case 'number': return this.#number(schema, at, false)
      case 'boolean': return at.variant % 2 === 0
      case 'null': return null
      default: return this.#string(schema, at)
    }
  }

  /** Returns the schema with references followed, one branch chosen, and `allOf` merged in. */
  #flat (given: unknown, depth: number, followed = 0): Schema {
    let schema = objectOf(given) ?? {}
    const { $ref: ref, allOf, anyOf, oneOf, ...rest } = schema
    const parts: unknown[] = Array.isArray(allOf) ? [...allOf as readonly unknown[]] : []
    for (const branches of [anyOf, oneOf]) {
      if (Array.isArray(branches)) parts.push(depth < deep ? branches[0] : plainest(branches))
    }
    if (parts.length === 0 && typeof ref !== 'string') return schema
    if (followed > deepest) {
      throw new SandboxRefusal(400, 'The schema refers to itself without end.', { param: 'schema' })
    }
    schema = rest
    if (typeof ref === 'string') schema = this.#merged(schema, this.#target(ref, depth, followed))
    for (const part of parts) schema = this.#merged(schema, this.#flat(part, depth, followed + 1))
    return schema
  }

  /** Follows each reference once: schemas that name the next one twice would take a step for each path. */
  #target (ref: string, depth: number, followed: number): Schema {
    const key = `${depth < deep} ${ref}`
    let target = this.#resolved.get(key)
    if (target === undefined) {
      this.#resolved.set(key, (target = this.#flat(resolved(this.#root, ref), depth, followed + 1)))
    }
    return target
  }

  #merged (a: Schema, b: Schema): Schema {
    this.#steps += sizeOf(a) + sizeOf(b)
    if (this.#steps > maxSteps) {
      throw new SandboxRefusal(400, 'The schema is too large for the sandbox.', { param: 'schema' })
    }
    return merged(a, b)
  }

  #object (schema: Schema, at: ValuePosition): Record<string, unknown> {
    const properties = objectOf(schema['properties']) ?? {}
    const { required, additionalProperties: others } = schema
    const needed = Array.isArray(required) ? required.filter(name => typeof name === 'string') : []
    const wanted = this.#options.optional && at.depth < deep ? Object.keys(properties) : []
    const names = new Set<string>([...wanted, ...needed])
    const least = Math.min(numberOf(schema['minProperties']) ?? 0, maxValues)
    for (const name of Object.keys(properties)) if (names.size < least) names.add(name)
    for (let i = 1; names.size < least; i++) names.add(`field_${i}`)
    const most = numberOf(schema['maxProperties']) ?? Infinity

    const entries: Array<[string, unknown]> = []
    for (const name of [...needed, ...names]) {
      if (!names.delete(name)) continue
      if (entries.length >= most) break
      const inner = Object.hasOwn(properties, name) ? properties[name] : others
      entries.push([name, this.value(inner, { depth: at.depth + 1, variant: at.variant, name })])
    }
    // In the order of the schema, which is the order a model would write them in.
    const positions = new Map<string, number>()
    for (const name of [...Object.keys(properties), ...entries.map(([name]) => name)]) {
      if (!positions.has(name)) positions.set(name, positions.size)
    }
    entries.sort(([a], [b]) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0))
    return Object.fromEntries(entries)
  }

  #array (schema: Schema, at: ValuePosition): unknown[] {
    const { items, prefixItems } = schema
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
    const most = numberOf(schema['maxItems']) ?? Infinity
    const usual = this.#options.optional && at.depth < deep ? Math.max(1, first.length) : 0
    const count = Math.max(numberOf(schema['minItems']) ?? 0, Math.min(usual, most))
    const list: unknown[] = []
    for (let i = 0; i < count; i++) {
      const inner = first[i] ?? (Array.isArray(items) ? schema['additionalItems'] : items)
      list.push(this.value(inner, { depth: at.depth + 1, variant: at.variant + i, name: at.name }))
    }
    return list
  }

  #oneOf (values: readonly unknown[], { variant }: ValuePosition): unknown {
    const text = this.#options.hints?.text.toLowerCase()
    const said = text === undefined
      ? undefined
      : values.find(value => typeof value === 'string' && value !== '' && text.includes(value.toLowerCase()))
    return said ?? values[variant % values.length]
  }

  #number (schema: Schema, { variant }: ValuePosition, integer: boolean): number {
    const hint = this.#numbers[0]
    const number = numberFor(schema, { integer, variant, hint })
    if (number === hint) this.#numbers.shift()
    return number
  }

  #string (schema: Schema, { variant, name }: ValuePosition): string {
    const { hints } = this.#options
    const takesText = /^(?:query|question|prompt|text|message|input)$/i.test(name)
    const hint = takesText ? hints?.text : this.#strings[0] ?? hints?.text
    const string = stringFor(schema, { variant, hint })
    if (string === this.#strings[0] && this.#strings.length > 1) this.#strings.shift()
    return string
  }
}

function typeOf (schema: Schema): string {
  const { type } = schema
  if (typeof type === 'string') return type
  if (Array.isArray(type) && typeof type[0] === 'string') return type[0]
  const has = (...keywords: string[]): boolean => keywords.some(keyword => keyword in schema)
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return 'object'
  if (has('items', 'prefixItems', 'minItems')) return 'array'
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return 'number'
  return 'string'
}

/** Returns both at once: properties and requirements add up, the narrower limit wins. */
function merged (a: Schema, b: Schema): Schema {
  const both: Record<string, unknown> = { ...a, ...b }
  for (const key of Object.keys(a)) {
    const [one, two] = [a[key], b[key]]
    if (two === undefined) continue
    if (key === 'properties') both[key] = { ...objectOf(one), ...objectOf(two) }
    else if (key === 'required' && Array.isArray(one) && Array.isArray(two))
      both[key] = [...new Set<unknown>([...one, ...two])]
    else if (key === 'enum' && Array.isArray(one) && Array.isArray(two)) both[key] = common(one, two)
    else if (typeof one === 'number' && typeof two === 'number') {
      both[key] = /^(?:min|exclusiveMin)/.test(key) ? Math.max(one, two) : Math.min(one, two)
    }
  }
  return both
}

function common (one: readonly unknown[], two: readonly unknown[]): unknown[] {
  const values = new Set(two)
  return one.filter(value => values.has(value))
}

/** Counts what merging walks over: the keywords, and the entries of the largest of them. */
function sizeOf ({ properties, required, enum: values, ...others }: Schema): number {
  const lists = [required, values].map(list => (Array.isArray(list) ? list.length : 0))
  return (
    Object.keys(others).length +
    Object.keys(objectOf(properties) ?? {}).length +
    lists.reduce((sum, size) => sum + size, 0)
  )
}

/** The branch that ends soonest: no reference, and neither object nor array if there is a choice. */
function plainest (branches: readonly unknown[]): unknown {
  const plain = branches.filter(branch => objectOf(branch)?.['$ref'] === undefined)
  return (
    plain.find(branch => !['object', 'array'].includes(typeOf(objectOf(branch) ?? {}))) ??
    plain[0] ??
    branches[0]
  )
}

/** Follows a reference into the same document. */
function resolved (root: unknown, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined
  let at = root
  for (const part of ref.slice(1).split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    at = Object.hasOwn(Object(at), key) ? property(at, key) : undefined
  }
  return at
}
