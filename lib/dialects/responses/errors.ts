/**
 * Errors of the Responses API: always `{ error }`, with status 400 for an invalid request body, where chat
 * completions use 422.
 */

import { ValidationError, type GatewayError } from '../../core/errors.ts'
import { jsonReplyHeaders } from '../../core/reply.ts'
import type { ErrorBody } from '../../../schemas/errors.ts'
import type { ErrorFormat } from '../dialect.ts'

export const responsesErrors: ErrorFormat = failure => ({
  status: failure instanceof ValidationError ? 400 : failure.status,
  headers: { ...jsonReplyHeaders, ...failure.headers() },
  body: JSON.stringify(bodyOf(failure))
})

function bodyOf (failure: GatewayError): ErrorBody {
  const { error } = failure.toBody()
  return {
    error: error.code === 'not_found' && error.param === 'response_id' ? { ...error, code: null } : error
  }
}

/**
 * Returns the code of a failure after the head of the answer. For most codes, agents repeat the entire turn
 * including tools; they stop for codes that would fail again.
 */
export function failedCode ({ code, status }: GatewayError): string {
  switch (code) {
    case 'context_length_exceeded':
    case 'insufficient_quota':
    case 'rate_limit_exceeded':
      return code
    case 'overloaded':
    case 'upstream_overloaded':
      return 'server_is_overloaded'
    default:
      return status >= 400 && status < 500 ? 'invalid_prompt' : 'server_error'
  }
}
