/**
 * Records on whose behalf a call is made (`validation/attribution`), and checks its body against the schema
 * of its endpoint.
 */

import type { Static, TSchema } from 'typebox'
import { updateCall, type AuthedCall, type ValidCall } from '../core/call.ts'
import { noteAttribution } from '../validation/attribution.ts'
import { needsSlices } from '../core/request-size.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { withoutNulls } from '../json/type-guards.ts'
import { bodyCheck } from '../validation/body-check.ts'
import type { WithoutNulls } from '../../schemas/nullable.ts'

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
