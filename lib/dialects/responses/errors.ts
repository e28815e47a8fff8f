/** Errors of the Responses API: always `{ error }`, and 400 for a request of the wrong shape, where chat completions have 422. */

import { ValidationError, type GatewayError, type ValidationDetail } from '../../core/errors.ts'
import { jsonReplyHeaders } from '../../core/reply.ts'
import type { ErrorFormat } from '../dialect.ts'

export const responsesErrors: ErrorFormat = failure => ({
  status: failure instanceof ValidationError ? 400 : failure.status,
  headers: { ...jsonReplyHeaders, ...failure.headers() },
  body: JSON.stringify(bodyOf(failure))
})

function bodyOf (failure: GatewayError): unknown {
  if (!(failure instanceof ValidationError)) {
    const { code, type, message, param } = failure
    return code === 'not_found' && param === 'response_id' ? { error: { message, type, code: null, param } } : failure.toBody()
  }
  const [detail] = failure.detail
  if (detail === undefined) return failure.toBody()
  const param = pathOf(detail.loc)
  return {
    error: { message: `Invalid value for \`${param}\`: ${detail.msg}.`, type: failure.type, code: codeOf(detail), param }
  }
}

/** Returns a place as the callers of this API write it: `input[0].content`. */
function pathOf ([, ...loc]: ValidationDetail['loc']): string {
  let path = ''
  for (const step of loc) path += typeof step === 'number' ? `[${step}]` : path === '' ? step : `.${step}`
  return path
}

function codeOf ({ type }: ValidationDetail): string {
  if (type === 'missing') return 'missing_required_parameter'
  return type.endsWith('_type') ? 'invalid_type' : 'invalid_value'
}

/**
 * Returns the code of a failure after the head of the answer. Agents repeat an entire turn, tools included, for most codes;
 * they stop at those that would fail again.
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
