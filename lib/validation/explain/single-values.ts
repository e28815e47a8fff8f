/** Checks single values. Each fault gets pydantic's type, message and context. */

import type { Explanation } from './explanation.ts'
import { literals, type JsonSchema } from '../json-schema.ts'

const typeErrors: Readonly<Record<string, readonly [type: string, msg: string]>> = {
  string: ['string_type', 'Input should be a valid string'],
  integer: ['int_type', 'Input should be a valid integer'],
  number: ['float_type', 'Input should be a valid number'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  array: ['list_type', 'Input should be a valid list'],
  object: ['dict_type', 'Input should be a valid dictionary'],
  null: ['none_required', 'Input should be None']
}

export function wrongType (schema: JsonSchema, value: unknown, found: Explanation): void {
  if (literals(schema) !== undefined) return checkLiteral(schema, value, found)
  const [type, msg] = typeErrors[schema.type ?? ''] ?? ['value_error', 'Value error, not allowed here']
  found.add(type, msg, value)
}

export function checkLiteral (schema: JsonSchema, value: unknown, found: Explanation): void {
  const allowed = literals(schema) ?? []
  if (allowed.includes(value)) return
  const words = allowed.map(quote)
  const last = words.pop() ?? ''
  const expected = words.length === 0 ? last : `${words.join(', ')} or ${last}`
  found.add('literal_error', `Input should be ${expected}`, value, { expected })
}

export function checkSize (
  what: 'List' | 'Dictionary', size: number, min = 0, max = Infinity, found: Explanation
): void {
  const sizes = { field_type: what, actual_length: size }
  if (size < min) {
    found.add(
      'too_short',
      `${what} should have at least ${count(min, 'item')} after validation, not ${size}`,
      undefined,
      { ...sizes, min_length: min }
    )
  } else if (size > max) {
    found.add(
      'too_long',
      `${what} should have at most ${count(max, 'item')} after validation, not ${size}`,
      undefined,
      { ...sizes, max_length: max }
    )
  }
}

export function checkText (schema: JsonSchema, value: string, found: Explanation): void {
  const { minLength = 0, maxLength = Infinity, pattern } = schema
  if (!hasAtLeast(value, minLength)) {
    found.add('string_too_short', `String should have at least ${count(minLength, 'character')}`, value, {
      min_length: minLength
    })
  } else if (hasAtLeast(value, maxLength + 1)) {
    found.add('string_too_long', `String should have at most ${count(maxLength, 'character')}`, value, {
      max_length: maxLength
    })
  } else if (pattern !== undefined && !expression(pattern).test(value)) {
    found.add('string_pattern_mismatch', `String should match pattern '${pattern}'`, value, { pattern })
  }
}

export function checkNumber (schema: JsonSchema, value: number, found: Explanation): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (schema.type === 'integer' && !Number.isInteger(value)) {
    found.add(
      'int_from_float',
      'Input should be a valid integer, got a number with a fractional part',
      value
    )
  } else if (minimum !== undefined && value < minimum) {
    found.add('greater_than_equal', `Input should be greater than or equal to ${minimum}`, value, {
      ge: minimum
    })
  } else if (maximum !== undefined && value > maximum) {
    found.add('less_than_equal', `Input should be less than or equal to ${maximum}`, value, { le: maximum })
  } else if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
    found.add('greater_than', `Input should be greater than ${exclusiveMinimum}`, value, {
      gt: exclusiveMinimum
    })
  } else if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) {
    found.add('less_than', `Input should be less than ${exclusiveMaximum}`, value, { lt: exclusiveMaximum })
  }
}

const expressions = new Map<string, RegExp>()

/** Patterns come from schemas only, so they are few and can be kept. */
export function expression (pattern: string): RegExp {
  let compiled = expressions.get(pattern)
  if (compiled === undefined) {
    compiled = new RegExp(pattern, 'u')
    expressions.set(pattern, compiled)
  }
  return compiled
}

/** Counts characters like JSON Schema does, by code point, and stops as soon as the count suffices. */
function hasAtLeast (text: string, characters: number): boolean {
  if (text.length < characters) return false
  let seen = 0
  for (let index = 0; index < text.length && seen < characters; seen++) {
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
  }
  return seen >= characters
}

export function quote (value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

function count (size: number, noun: string): string {
  return `${size} ${noun}${size === 1 ? '' : 's'}`
}
