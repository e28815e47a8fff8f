/**
 * Provider failures, from a status and body or from an error inside a response. Proxies send HTML and plain
 * text, so the body is never assumed to be valid.
 */

import { objectOf, nonEmptyText } from '../../json/type-guards.ts'
import { inBandError as untypedError } from '../chat-completions/errors.ts'
import { retryAfterSeconds } from '../retry-after.ts'
import type { Failure, FailureKind } from '../provider-failure.ts'
import type { UpstreamFailure } from '../provider.ts'

/** Statuses by error type, for errors in streams whose status was sent before. */
const statuses: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['conflict_error', 409],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529]
])

/** Interprets a non-2xx response. */
export function readError ({ status, headers, body }: UpstreamFailure): Failure {
  return classify({ status, ...saidIn(body) }, retryAfterSeconds(headers))
}

/** Reads an error that arrived with status 200. */
export function inBandError (body: object): Failure {
  const said = saidIn(body)
  return classify({ status: statuses.get(said.type ?? '') ?? 500, ...said }, undefined)
}

/**
 * Reads the error in an answer or an event with status 200, if it is one. Proxies in front of this API send
 * errors without `type`, in the format of chat completions.
 */
export function errorIn (answer: object): Failure | undefined {
  const { type } = answer as { readonly type?: unknown } // any object may have any field
  if (type === 'error') return inBandError(answer)
  return nonEmptyText(type) === undefined ? untypedError({ ...answer }, false) : undefined
}

/**
 * Keeps the original body with a failure if it is an error of this API.
 *
 * @param status absent for an error inside a response
 * @param text the raw JSON
 */
export function directError (
  failure: Failure,
  status: number | undefined,
  text: string | undefined
): Failure {
  if (text === undefined) return failure
  const { type, error } = objectOf(JSON.parse(text)) ?? {} // two fields are read
  const ofType = nonEmptyText(objectOf(error)?.['type'])
  if (type !== 'error' || ofType === undefined) return failure
  return {
    ...failure,
    original: { dialect: 'messages', status: status ?? statuses.get(ofType) ?? 500, body: text }
  }
}

interface Said {
  readonly status: number
  readonly type: string | undefined
  readonly message: string | undefined
}

function saidIn (body: unknown): Omit<Said, 'status'> {
  const error = objectOf(objectOf(body)?.['error'])
  const message = nonEmptyText(error?.['message'])
  return {
    type: nonEmptyText(error?.['type']),
    message: message === undefined ? undefined : anonymous(message)
  }
}

function classify (said: Said, retryAfterSeconds: number | undefined): Failure {
  const { message, type } = said
  const status = statusOf(said)
  const fact = (kind: FailureKind, more: Partial<Failure> = {}): Failure =>
    ({ kind, message, cause: { status: said.status, type }, ...more })

  switch (status) {
    case 401: case 403: return fact('credential', { status })
    case 402: return fact('quota')
    case 404: return fact('model', { param: 'model' })
    case 408: case 504: return fact('timeout')
    case 429: return fact('rate_limit', { retryAfterSeconds })
    case 503: case 529: return fact('overloaded', { retryAfterSeconds })
    default:
  }
  if (status >= 500 || status < 400) return fact('error')
  return isTooLong(said)
    ? fact('context_length', { param: 'messages' })
    : fact('invalid_request', { status: status === 422 ? 400 : status })
}

/** An exhausted balance is reported as a bad request. */
function statusOf ({ status, message = '' }: Said): number {
  return status === 400 && /credit balance is too low/i.test(message) ? 402 : status
}

function isTooLong ({ status, message = '' }: Said): boolean {
  return status === 400 && /prompt is too long|exceeds? (?:the )?context (?:limit|window)/i.test(message)
}

/** Removes ids of requests and organisations, which mean nothing to the caller. */
function anonymous (message: string): string {
  return message
    .replace(/\breq_\w+/g, '[redacted]')
    .replace(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '[redacted]')
}
