/**
 * Records on whose behalf a call is made (`validation/attribution`), and checks its body against the schema
 * of its endpoint.
 *
 * The compiled check only answers yes or no. It stops at the first error, which keeps it fast and safe with
 * any body: gathering every error of a body of 100,000 bad messages takes seconds and hundreds of megabytes.
 * `validation/explain` then finds what is wrong, within bounds.
 */

import type { Static, TSchema } from 'typebox'
import { updateCall, type AuthedCall, type ValidCall } from '../core/call.ts'
import { noteAttribution } from '../validation/attribution.ts'
import { needsSlices } from '../core/request-size.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { GatewayError, ValidationError, type ValidationDetail } from '../core/errors.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { compileCheck } from '../validation/compile-check.ts'
import { explain } from '../validation/explain.ts'
import { isObject, withoutNulls, type JsonObject } from '../json/type-guards.ts'
import type { WithoutNulls } from '../../schemas/nullable.ts'

export const maxDetails = 20
/**
 * Maximum fields of a body: the largest schema has fewer than a hundred, and stages that change a request
 * copy its fields.
 */
const maxFields = 1000

/**
 * Reads the JSON body of each call and sets it as `request`: one call in, one out. Top-level fields that are
 * null are left out, so later code meets `undefined` only. The body itself is not changed.
 *
 * Create it once, as a constant of a module: each call of this function compiles the schema, and pipelines
 * are rebuilt with each configuration.
 *
 * @throws GatewayError `invalid_json` when the body is not an object; otherwise what `call.body` throws
 * @throws ValidationError (422) with at most 20 details when the body does not match the schema
 */
export function validate<S extends TSchema> (
  schema: S
): Stage<AuthedCall, ValidCall<WithoutNulls<Static<S>>>> {
  const check = bodyCheck(schema)
  return map(call => call.body().then(body => {
    // the check has just shown it
    const request = withoutNulls(check(noteAttribution(body, call))) as WithoutNulls<Static<S>>
    const valid = updateCall(call, { request })
    return needsSlices(call.record.request) ? yieldFairly().then(() => valid) : valid
  }))
}

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
