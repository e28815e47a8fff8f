/** Values for a JSON schema: most match it, and changes that may or may not break them. */

import fc from 'fast-check'
import { isObject } from '../../lib/json/type-guards.ts'
import type { TSchema } from 'typebox'
import type { JsonSchema } from '../../lib/validation/json-schema.ts'

/** Texts that schema keywords decide on: empty, long, beyond one UTF-16 unit, odd names. */
const texts = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'text',
    'a/b',
    'https://a.example/x',
    'a\nb',
    ' ',
    '🎈',
    '🎈'.repeat(64),
    'é'.repeat(65),
    'x'.repeat(512),
    'x'.repeat(513),
    '1024x1024',
    'auto',
    'env:A',
    'a\0b',
    '\ud800'
  ),
  fc.string({ maxLength: 8 })
)
const names = fc.oneof(
  fc.constantFrom('a', 'b c', 'constructor', 'toString', '__proto__', 'x'.repeat(65)),
  fc.string({ maxLength: 6 })
)

const anything = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    -1,
    1.5,
    1e9,
    1e308,
    2 ** 53,
    '',
    'x',
    [],
    {},
    [null],
    ['a'],
    [1],
    { type: 'text' },
    { toString: 1 }
  ),
  texts,
  fc.jsonValue({ maxDepth: 3 })
)

/** Returns values that match a schema, except that patterns and lengths are only matched often. */
export function valuesOf (schema: TSchema): fc.Arbitrary<unknown> {
  return values(schema)
}

function values (schema: JsonSchema): fc.Arbitrary<unknown> {
  const { anyOf, allOf, const: constant, enum: words, type } = schema
  if (anyOf !== undefined) return fc.oneof(...anyOf.map(values))
  if (allOf !== undefined) {
    return fc.tuple(...allOf.map(values)).map(parts => Object.assign({}, ...parts) as unknown)
  }
  if (words !== undefined) return fc.constantFrom(...words)
  if (constant !== undefined) return fc.constant(constant)
  if (Array.isArray(type)) return fc.oneof(...(type as string[]).map(type => values({ ...schema, type })))
  switch (type) {
    case 'string':
      return strings(schema)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'integer':
      return numbers(schema, true)
    case 'number':
      return numbers(schema, false)
    case 'array':
      return fc.array(values(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 4, 4) + 1 })
    case 'object':
      return objects(schema)
    default:
      return anything
  }
}

/** Texts with the required length and pattern are rare among random ones: two of three are generated. */
function strings ({ minLength = 0, maxLength = Infinity, pattern }: JsonSchema): fc.Arbitrary<string> {
  // fast-check builds no texts for lookaheads; those of the schemas refuse a few words, and most texts match
  // them.
  if (pattern?.startsWith('^(?!') === true || (pattern === undefined && minLength <= 1)) return texts
  const right = pattern === undefined
    ? fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 8) })
    : fc.stringMatching(new RegExp(pattern, 'u'))
  return fc.oneof(texts, { weight: 2, arbitrary: right })
}

function numbers (
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema,
  integers: boolean
): fc.Arbitrary<number> {
  const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter(bound => bound !== undefined)
  const near = bounds.flatMap(bound => [
    bound - 1,
    bound,
    bound + 1,
    ...(integers ? [] : [bound + 0.5, bound - 0.5])
  ])
  return fc.constantFrom(
    ...near,
    ...(near.length === 0 ? [0, -1, 7, 2 ** 40] : []),
    ...(integers ? [] : [0.5])
  )
}

function objects (schema: JsonSchema): fc.Arbitrary<unknown> {
  const { properties = {}, additionalProperties, patternProperties = {} } = schema
  // A member with a default may be left out.
  const required = (schema.required ?? []).filter(name => !Object.hasOwn(properties[name] ?? {}, 'default'))
  const known = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, values(property)])
  )
  // Few of many: a request with every field at once finds little.
  const optional = Object.keys(properties).filter(name => !required.includes(name))
  const [entry] = Object.values(patternProperties)
  const others = entry ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  return fc
    .tuple(
      fc.subarray(optional, { maxLength: Math.min(optional.length, 5) }),
      fc.record(known),
      fc.dictionary(names, others === undefined ? anything : values(others), {
        maxKeys: others === undefined ? 1 : 4
      })
    )
    .map(([chosen, values, more]) => {
      const kept = new Set([...chosen, ...required])
      const own = Object.entries(values).filter(([name]) => kept.has(name))
      return { ...additionalProperties !== false && more, ...Object.fromEntries(own) }
    })
}

/** Returns values as from `valuesOf`, with up to three parts of each replaced by anything. */
export function brokenValuesOf (schema: TSchema): fc.Arbitrary<unknown> {
  const places = fc.array(fc.nat(), { maxLength: 6 })
  return fc
    .tuple(valuesOf(schema), fc.array(fc.tuple(places, anything), { maxLength: 3 }))
    .map(([value, changes]) => changes.reduce((result, [place, by]) => changed(result, place, by), value))
}

/** Returns a copy with one nested value replaced; `place` picks a key at each level. */
export function changed (value: unknown, place: readonly number[], by: unknown): unknown {
  const [pick, ...rest] = place
  if (pick === undefined || typeof value !== 'object' || value === null) return by
  const keys = Object.keys(value)
  const key = keys[pick % (keys.length + 1)]
  if (Array.isArray(value)) {
    return key === undefined
      ? [...value, by]
      : value.with(Number(key), changed(value[Number(key)], rest, by))
  }
  if (key === undefined || !isObject(value)) return { ...value, extra: by }
  return { ...value, [key]: changed(value[key], rest, by) }
}
