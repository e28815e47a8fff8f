/**
 * What a failure of the provider means, from a status and a body or from an error inside an answer.
 *
 * Proxies in between answer with pages and plain words, so the body is looked at, not trusted. The
 * provider's own message reaches the caller only where the request is at fault, and scrubbed.
 */

import { GatewayError, type ErrorCode, type GatewayErrorOptions } from '../../core/errors.ts'
import { redact } from '../../text/redact.ts'
import { objectOf, textOf } from '../../json/guards.ts'
import { retryAfterSeconds } from '../retry-after.ts'
import type { UpstreamFailure } from '../provider.ts'

/** The status that goes with a type of error: inside a stream the status was sent long ago. */
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

/** A status other than 2xx as one of our errors. */
export function readError ({ status, headers, body }: UpstreamFailure): GatewayError {
  return classify({ status, ...saidIn(body) }, retryAfterSeconds(headers))
}

/** An error that came where an answer should, under status 200. */
export function inBandError (body: object): GatewayError {
  const said = saidIn(body)
  return classify({ status: statuses.get(said.type ?? '') ?? 500, ...said }, undefined)
}

interface Said {
  readonly status: number
  readonly type: string | undefined
  readonly message: string | undefined
}

function saidIn (body: unknown): Omit<Said, 'status'> {
  const error = objectOf(objectOf(body)?.['error'])
  const message = textOf(error?.['message'])
  return { type: textOf(error?.['type']), message: message === undefined ? undefined : anonymous(message) }
}

function classify (said: Said, waitSeconds: number | undefined): GatewayError {
  const { message } = said
  const status = statusOf(said)
  const make = (code: ErrorCode, options: GatewayErrorOptions = {}): GatewayError =>
    new GatewayError(code, { cause: said, ...options })

  switch (status) {
    case 401:
    case 403: return make('upstream_auth_failed', { withOwnKey: make('invalid_provider_key', { status, message }) })
    case 402: return make('upstream_quota_exhausted', { withOwnKey: make('insufficient_quota', { message }) })
    case 404: return make('model_not_found', { message, param: 'model' })
    case 408:
    case 504: return make('upstream_timeout')
    case 429: return make('rate_limit_exceeded', {
      // The limits of this gateway's own account are not the caller's business.
      message: 'The provider is limiting requests. Try again later.',
      retryAfterSeconds: waitSeconds,
      withOwnKey: make('rate_limit_exceeded', { message, retryAfterSeconds: waitSeconds })
    })
    case 503:
    case 529: return make('upstream_overloaded', { retryAfterSeconds: waitSeconds })
    default:
  }
  if (status >= 500 || status < 400) return make('upstream_error')
  return isTooLong(said)
    ? make('context_length_exceeded', { message, param: 'messages' })
    : make('upstream_invalid_request', { message, status: status === 422 ? 400 : status })
}

/** An empty account is reported as a bad request. */
function statusOf ({ status, message = '' }: Said): number {
  return status === 400 && /credit balance is too low/i.test(message) ? 402 : status
}

function isTooLong ({ status, message = '' }: Said): boolean {
  return status === 400 && /prompt is too long|exceeds? (?:the )?context (?:limit|window)/i.test(message)
}

/** The provider names requests and organisations; neither says anything to the caller. */
function anonymous (message: string): string {
  return redact(message)
    .replace(/\breq_\w+/g, '[redacted]')
    .replace(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '[redacted]')
}
