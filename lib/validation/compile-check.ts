/**
 * Compiles a schema to a function that tells whether a value matches. It stops at the first error and is safe
 * with any value; `explain` tells what is wrong.
 *
 * TypeBox compiles the schema of chat requests in 40 ms where Ajv takes 520, and checks a request of 20
 * messages in 1 µs instead of 20 (Node.js 20, one core). The first thousand calls differ even more.
 */

import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/schema'
import { isObject } from '../json/type-guards.ts'
import { branchesOf, type JsonSchema } from './json-schema.ts'

export type Check = (value: unknown) => boolean

/** A schema with no other keywords can be checked field by field. */
const fieldKeywords = new Set(['type', 'properties', 'required', 'description'])

/** Checks of fields that may not be compiled yet. */
const waiting: Check[] = []

/**
 * Makes the check of a schema out of one compiled function per top-level field. As one function, the check of
 * a chat request is too long for the engine to optimise soon.
 *
 * A field is compiled at its first use, or by `warmUp`, so that a start need not wait for all of them.
 */
export function compileCheck (schema: TSchema): Check {
  const fields = fieldsOf(schema)
  if (fields === undefined) return compiledLater(schema)
  const { required = [] }: JsonSchema = schema
  const checks = new Map(Object.entries(fields).map(([name, field]) => [name, compiledLater(field)]))
  waiting.push(...checks.values())
  return body => {
    if (!isObject(body) || !required.every(name => Object.hasOwn(body, name))) return false
    for (const name in body) {
      if (checks.get(name)?.(body[name]) === false) return false
    }
    return true
  }
}

/** Compiles the fields that no call has needed yet, one by one between other work. */
export function warmUp (): void {
  const check = waiting.pop()
  if (check === undefined) return
  check(undefined)
  setImmediate(warmUp).unref()
}

/** Returns the fields of a schema that has nothing but fields. */
function fieldsOf (schema: TSchema): Readonly<Record<string, TSchema>> | undefined {
  const { properties }: JsonSchema = schema
  return Object.keys(schema).every(key => fieldKeywords.has(key)) ? properties : undefined
}

/**
 * Returns a check that is compiled when it is first called.
 *
 * TypeBox counts the items of a list or an object after it has checked each of them, which takes 80 ms for
 * 30,000 short fields: what is too long is refused before.
 */
function compiledLater (schema: TSchema): Check {
  let validator: Validator | undefined
  const most = {
    items: largest(schema, 'array', 'maxItems'),
    fields: largest(schema, 'object', 'maxProperties')
  }
  return value => !isLonger(value, most) && (validator ??= Compile(schema)).Check(value)
}

/** Returns the largest size that a schema allows for values of a type; infinity without a limit. */
function largest (
  schema: JsonSchema, type: 'array' | 'object', limit: 'maxItems' | 'maxProperties'
): number {
  const branches = branchesOf(schema).filter(branch => [branch.type ?? type].flat().includes(type))
  return Math.max(0, ...branches.map(branch => branch[limit] ?? Infinity))
}

function isLonger (value: unknown, most: { readonly items: number, readonly fields: number }): boolean {
  if (Array.isArray(value)) return value.length > most.items
  return most.fields < Infinity && isObject(value) && Object.keys(value).length > most.fields
}
