import type { Static, TSchema } from 'typebox'
import { updateCall, type AuthedCall, type ValidCall } from '../core/call.ts'
import { GatewayError, ValidationError } from '../core/errors.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { noteAttribution } from '../validation/attribution.ts'
import { compileCheck } from '../validation/compile-check.ts'
import { explain } from '../validation/explain.ts'
import { attributionFields, isForm, parseFormFields, type FormRequest } from '../validation/form.ts'
import { maxDetails, unexplained } from '../validation/body-check.ts'

/**
 * Reads the multipart form of each call and sets it as `request`, with its texts converted as the schema
 * requires and its files unchanged: one call in, one out.
 *
 * A list may be sent as `name[]` or `name`, repeated or comma-separated, or as `name[0]`, `name[1]`; an
 * object as JSON or as `name[key]`.
 * The last value of a repeated field counts, unless it is a list. Unknown fields are dropped.
 *
 * @throws GatewayError `unsupported_media_type` if the body is not a form
 * @throws ValidationError (422) with at most 20 details if it does not match the schema
 */
export function validateForm<S extends TSchema> (
  schema: S
): Stage<AuthedCall, ValidCall<FormRequest<Static<S>>>> {
  const matches = compileCheck(schema)
  return map(async call => {
    const form = await call.body()
    if (!isForm(form)) {
      throw new GatewayError('unsupported_media_type', { message: 'Send the body as multipart/form-data.' })
    }
    noteAttribution(attributionFields(form), call)
    const { values, request, faults } = parseFormFields(schema, form)
    if (faults.length > 0 || !matches(values)) {
      // An unreadable field has already been reported; its absence is not another error.
      const unread = new Set(faults.map(fault => fault.loc[1]))
      const others = explain(schema, values, { limit: maxDetails }).filter(({ loc }) => !unread.has(loc[1]))
      const detail = [...faults, ...others].slice(0, maxDetails)
      throw new ValidationError(detail.length > 0 ? detail : [unexplained])
    }
    // The check has just shown it; files replace each `FormFile` of the schema.
    return updateCall(call, { request: request as FormRequest<Static<S>> })
  })
}
