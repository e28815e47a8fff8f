/** The two forms of error bodies. */

import { Type, type Static } from 'typebox'
import { AnyObject, OneOf } from './nullable.ts'

export const ErrorBody = Type.Object({
  error: Type.Object({
    message: Type.String({ description: 'A human-readable message.' }),
    type: OneOf([
      'invalid_request_error', 'authentication_error', 'rate_limit_error', 'server_error'
    ]),
    code: Type.Union([Type.String(), Type.Null()], { description: 'Machine-readable code.' }),
    param: Type.Union([Type.String(), Type.Null()], { description: 'The parameter at fault.' })
  })
}, { description: 'Description of the error.' })
export type ErrorBody = Static<typeof ErrorBody>

export const ValidationErrorBody = Type.Object(
  {
    detail: Type.Array(
      Type.Object({
        loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
          description: 'Where: `["body", "messages", 0, "role"]`.'
        }),
        msg: Type.String(),
        type: Type.String({ description: 'A machine-readable reason, such as `missing` or `string_type`.' }),
        input: Type.Optional(Type.Unknown({ description: 'The value at fault, shortened.' })),
        ctx: Type.Optional(AnyObject)
      })
    ),
    error: ErrorBody.properties.error
  },
  {
    description:
      'The request does not have the right shape. At most 20 reasons are listed; `error` is about the first of them.'
  }
)
export type ValidationErrorBody = Static<typeof ValidationErrorBody>
