/**
 * Explains why a value does not match a schema, in the vocabulary of pydantic 2.
 *
 * A compiled check decides whether a value matches; it stops at the first error and is safe with any input.
 * This walk runs only for values that failed. It visits each part of the value a bounded number of times,
 * never goes deeper than the schema, and stops when it has enough: a hundred thousand bad messages cost no
 * more than twenty. Ajv cannot stop after a number of errors, reports every branch of a union, and compiles
 * the schema of a chat request as one unit in half a second.
 *
 * @see https://docs.pydantic.dev/latest/errors/validation_errors/
 */

import type { TSchema } from 'typebox'
import type { ValidationDetail } from '../core/errors.ts'
import { Explanation, show } from './explain/explanation.ts'
import { isObject } from '../json/type-guards.ts'
import { branchesOf, fits, literals, typeOf, type JsonSchema } from './json-schema.ts'
import {
  checkLiteral, checkNumber, checkSize, checkText, expression, quote, wrongType
} from './explain/single-values.ts'
import { unionOf, type Tag } from './explain/union.ts'

export interface ExplainOptions {
  /** Maximum number of details. Default 20. */
  readonly limit?: number
  /** The path of the value. Default `['body']`. */
  readonly loc?: ReadonlyArray<string | number>
}

/**
 * Lists the errors in `value`, in the order of the schema; empty if there are none, or if the only violated
 * keyword is not in `JsonSchema`. Numbers are never read from texts, nor booleans from numbers. `input` is
 * omitted for objects and lists, and cut for long texts.
 */
export function explain (
  schema: TSchema, value: unknown, { limit = 20, loc = ['body'] }: ExplainOptions = {}
): ValidationDetail[] {
  const found = new Explanation(limit, [...loc])
  check(schema, value, found)
  return found.details
}

function check (schema: JsonSchema, value: unknown, found: Explanation): void {
  if (schema.allOf !== undefined) for (const part of schema.allOf) check(part, value, found)
  if (schema.anyOf !== undefined) checkUnion(schema.anyOf, value, found)
  else if (schema.not !== undefined) found.add('extra_forbidden', 'Extra inputs are not permitted', value)
  else if (!fits(schema, value)) wrongType(schema, value, found)
  else if (literals(schema) !== undefined) checkLiteral(schema, value, found)
  else if (isObject(value)) checkObject(schema, value, found)
  else if (Array.isArray(value)) checkList(schema, value, found)
  else if (typeof value === 'string') checkText(schema, value, found)
  else if (typeof value === 'number') checkNumber(schema, value, found)
}

function checkObject (schema: JsonSchema, value: Record<string, unknown>, found: Explanation): void {
  const { properties = {}, minProperties = 0, maxProperties = Infinity } = schema
  if (minProperties > 0 || maxProperties < Infinity) {
    const { length } = Object.keys(value)
    checkSize('Dictionary', length, minProperties, maxProperties, found)
    if (length > maxProperties) return // what is in it may take long to check
  }
  for (const key in properties) {
    const property = properties[key]
    if (found.isFull || property === undefined) return
    if (Object.hasOwn(value, key) && value[key] !== undefined) {
      found.at(key, () => check(property, value[key], found))
    } else if (schema.required?.includes(key)) {
      found.at(key, () => found.add('missing', 'Field required', undefined))
    }
  }
  checkOtherKeys(schema, value, found)
}

/** Checks the keys that are not in `properties`, if the schema says anything about them. */
function checkOtherKeys (
  schema: JsonSchema, value: Record<string, unknown>, found: Explanation
): void {
  const { properties = {}, patternProperties, additionalProperties = true, propertyNames } = schema
  if (patternProperties === undefined && additionalProperties === true && propertyNames === undefined) return
  const patterns = Object.entries(patternProperties ?? {})
  for (const key of Object.keys(value)) {
    if (found.isFull) return
    found.at(key, () => {
      if (propertyNames !== undefined) found.at('[key]', () => check(propertyNames, key, found))
      const matching = patterns.filter(([pattern]) => expression(pattern).test(key))
      for (const [, schema] of matching) check(schema, value[key], found)
      if (matching.length > 0 || Object.hasOwn(properties, key)) return
      if (additionalProperties === false) {
        found.add('extra_forbidden', 'Extra inputs are not permitted', value[key])
      } else if (additionalProperties !== true) check(additionalProperties, value[key], found)
    })
  }
}

function checkList (schema: JsonSchema, value: readonly unknown[], found: Explanation): void {
  const { items, minItems, maxItems = Infinity } = schema
  checkSize('List', value.length, minItems, maxItems, found)
  if (items === undefined || value.length > maxItems) return
  for (let index = 0; index < value.length && !found.isFull; index++) {
    found.at(index, () => check(items, value[index], found))
  }
}

/**
 * Explains a union by the branch that the caller meant: the one selected by a tag such as `role`, else by the
 * JSON type of the value, else the one with the fewest errors.
 */
function checkUnion (anyOf: readonly JsonSchema[], value: unknown, found: Explanation): void {
  const { branches, tag } = unionOf(anyOf)
  if (tag !== undefined && isObject(value)) return checkTagged(tag, value, found)
  const fitting = meantList(branches.filter(branch => fits(branch, value)), value)
  if (fitting.length > 0) return checkNearest(fitting, value, found)
  // `null` only means absent: advice to send it helps no caller.
  const wanted = branches.filter(branch => branch.type !== 'null')
  for (const branch of distinct(wanted)) wrongType(branch, value, found)
}

/** A list is interpreted by its first item, if the union has a list of such items. */
function meantList (branches: readonly JsonSchema[], value: unknown): readonly JsonSchema[] {
  if (branches.length < 2 || !Array.isArray(value) || value.length === 0) return branches
  const first: unknown = value[0]
  const meant = branches.filter(({ items = {} }) => branchesOf(items).some(item => fits(item, first)))
  return meant.length > 0 ? meant : branches
}

function checkTagged (
  { name, meant, optional, untagged }: Tag, value: Record<string, unknown>, found: Explanation
): void {
  if (untagged.some(branch => accepts(branch, value, found))) return
  const given = Object.hasOwn(value, name) ? value[name] : undefined
  const branches = given === undefined ? optional : meant.get(given) ?? []
  if (branches.length > 0) return checkNearest(branches, value, found)
  if (given === undefined) return found.at(name, () => found.add('missing', 'Field required', undefined))
  const shown = String(show(given) ?? typeOf(given))
  const expected = [...meant.keys()].filter(value => value !== null).map(quote).join(', ')
  found.add(
    'union_tag_invalid',
    `Input tag '${shown}' found using '${name}' does not match any of the expected tags: ${expected}`,
    value,
    { discriminator: `'${name}'`, tag: shown, expected_tags: expected }
  )
}

function checkNearest (all: readonly JsonSchema[], value: unknown, found: Explanation): void {
  const branches = all.length < 2 ? all : all.filter(branch => !forbids(branch, value))
  const [only, ...others] = branches
  if (only !== undefined && others.length === 0) return check(only, value, found)
  let nearest: Explanation | undefined
  for (const branch of branches) {
    const trial = found.trial()
    check(branch, value, trial)
    if (trial.details.length === 0) return
    if (nearest === undefined || trial.details.length < nearest.details.length) nearest = trial
  }
  if (nearest !== undefined) found.take(nearest)
}

/** A branch that forbids a field is not meant if the field is present. */
function forbids ({ properties = {} }: JsonSchema, value: unknown): boolean {
  return (
    isObject(value) &&
    Object.entries(properties).some(([name, { not }]) => not !== undefined && Object.hasOwn(value, name))
  )
}

function accepts (branch: JsonSchema, value: unknown, found: Explanation): boolean {
  const trial = found.trial(1)
  check(branch, value, trial)
  return trial.details.length === 0
}

/** Returns one branch of each kind: three lists of different items are all just "a list". */
function distinct (branches: readonly JsonSchema[]): JsonSchema[] {
  const kinds = new Map<unknown, JsonSchema>()
  for (const branch of branches) {
    const kind = literals(branch) === undefined ? branch.type : branch
    if (!kinds.has(kind)) kinds.set(kind, branch)
  }
  return [...kinds.values()]
}
