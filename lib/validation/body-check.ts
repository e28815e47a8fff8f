/**
 * Checks a JSON body against the schema of its endpoint.
 *
 * The compiled check only answers yes or no. It stops at the first error, which keeps it fast and safe with
 * any body: gathering every error of a body of 100,000 bad messages takes seconds and hundreds of megabytes.
 * `explain` then finds what is wrong, within bounds.
 */

import type { TSchema } from 'typebox'
import { GatewayError, ValidationError, type ValidationDetail } from '../core/errors.ts'
import { isObject, type JsonObject } from '../json/type-guards.ts'
import { compileCheck } from './compile-check.ts'
import { explain } from './explain.ts'

export const maxDetails = 20
/**
 * Maximum fields of a body: the largest schema has fewer than a hundred, and stages that change a request
 * copy its fields.
 */
const maxFields = 1000

/**
 * Creates the check of a JSON body, which returns the body unchanged.
 *
 * @throws GatewayError `invalid_json` if the body is not an object
 * @throws ValidationError (422) with at most 20 details if it does not match the schema
 */
export function bodyCheck (schema: TSchema): (body: unknown) => JsonObject {
  const matches = compileCheck(schema)
  return body => {
    if (!isObject(body)) throw new GatewayError('invalid_json')
    if (Object.keys(body).length > maxFields) throw new ValidationError([tooManyFields])
    if (!matches(body)) throw new ValidationError(reasons(schema, body))
    return body
  }
}

/** The detail of a body that does not match, if nothing says why. */
export const unexplained: ValidationDetail = {
  loc: ['body'], msg: 'Value error, the request does not match its schema', type: 'value_error'
}

const tooManyFields: ValidationDetail = {
  loc: ['body'], msg: `Value error, the body must have at most ${maxFields} fields`, type: 'value_error'
}

function reasons (schema: TSchema, body: unknown): ValidationDetail[] {
  const detail = explain(schema, body, { limit: maxDetails })
  return detail.length > 0 ? detail : [unexplained]
}
