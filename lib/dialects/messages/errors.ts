/** Errors in Anthropic's format: the same shape for every error. */

import { jsonReplyHeaders } from '../../core/reply.ts'
import { ValidationError, type ErrorCode, type GatewayError, type OriginalError } from '../../core/errors.ts'
import { dotted } from './field-name.ts'
import { rateLimitHeaders } from './rate-limits.ts'
import type { Call } from '../../core/call.ts'
import type { MessagesErrorBody, MessagesErrorType } from '../../../schemas/messages-answer.ts'
import type { ErrorFormat } from '../dialect.ts'

/** Official clients wait as long as the header says; some give up immediately above a minute. */
const maxRetryAfterSeconds = 60

/** Writes an error as status, headers and body. */
export const messagesErrors: ErrorFormat = (failure, call) => ({
  status: originalOf(failure)?.status ?? statusOf(failure),
  headers: {
    ...jsonReplyHeaders,
    'request-id': call.id,
    ...failure.headers(),
    ...rateLimitHeaders(call.record.limits.headers),
    ...retryHeaders(failure)
  },
  body: errorText(failure, call)
})

/**
 * Returns the body of an error as JSON. A provider's error in this dialect stays verbatim, because clients
 * depend on its wording.
 */
export function errorText (failure: GatewayError, call: Call): string {
  return originalOf(failure)?.body ?? JSON.stringify(errorBody(failure, call))
}

function originalOf ({ original }: GatewayError): OriginalError | undefined {
  return original?.dialect === 'messages' ? original : undefined
}

/** Returns the body of an error that the gateway detected. */
export function errorBody (failure: GatewayError, call: Call): MessagesErrorBody {
  return {
    type: 'error',
    error: {
      type: typeOf(failure),
      message: messageOf(failure, call),
      details: { error_code: failure.shownCode }
    },
    request_id: call.id
  }
}

/** Returns 400 for an invalid request body: some clients retry after 422. */
function statusOf (failure: GatewayError): number {
  return failure.status === 422 ? 400 : failure.status
}

const types: ReadonlyMap<number, MessagesErrorType> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [405, 'invalid_request_error'],
  [408, 'timeout_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error']
])

function typeOf (failure: GatewayError): MessagesErrorType {
  const status = statusOf(failure)
  return types.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

function messageOf (failure: GatewayError, { record }: Call): string {
  if (failure instanceof ValidationError) {
    return failure.detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ')
  }
  const words = wordings[failure.code]
  return words === undefined ? withField(failure) : words(failure, record)
}

/** Prefixes the message with its field, for which this dialect has no other place. */
function withField ({ status, param, message }: GatewayError): string {
  const place = dotted(param ?? '')
  const [field = ''] = place.split('.', 1)
  return status !== 400 || field === '' || message.startsWith(field) ? message : `${place}: ${message}`
}

/** Phrases that clients match on. */
const wordings: Partial<Record<ErrorCode, (failure: GatewayError, record: Call['record']) => string>> = {
  model_not_found: ({ message }, { request: { requestedModel } }) =>
    requestedModel === undefined ? message : `model: ${requestedModel.slice(0, 200)}`,
  // Triggers compaction in clients.
  context_length_exceeded: ({ message }) => {
    if (message.startsWith('prompt is too long')) return message
    const [, limit] = /maximum (?:context|prompt) length (?:of|is) (\d+)/i.exec(message) ?? []
    const [, actual] =
      /(?:resulted in|requested about|contains|input of|you requested) (\d+)/i.exec(message) ?? []
    return limit !== undefined && actual !== undefined
      ? `prompt is too long: ${actual} tokens > ${limit} maximum`
      : `prompt is too long: ${message}`
  }
}

/** Adds retry headers: without `x-should-retry: false`, clients retry a rejected key for minutes. */
function retryHeaders ({ status, retryAfterSeconds }: GatewayError): Record<string, string> {
  const headers: Record<string, string> = {}
  if (status === 401 || status === 402) headers['x-should-retry'] = 'false'
  if (retryAfterSeconds !== undefined && (status === 429 || status === 503)) {
    headers['retry-after'] = String(Math.min(maxRetryAfterSeconds, retryAfterSeconds))
  }
  return headers
}
