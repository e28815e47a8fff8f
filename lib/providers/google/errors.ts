/**
 * What a failure of Gemini means: from a status and a body, or from an error inside a stream that
 * had begun well.
 *
 * The body is a `google.rpc.Status` under `error`, sometimes in a list of one; proxies in between
 * send HTML. The provider's words reach the caller only where the fault is the caller's.
 *
 * @see https://ai.google.dev/gemini-api/docs/troubleshooting
 */

import { GatewayError, type ErrorCode, type GatewayErrorOptions } from '../../core/errors.ts'
import { redact } from '../../text/redact.ts'
import { clampSeconds, retryAfterSeconds } from '../retry-after.ts'
import { objectOf, objectsOf } from '../../json/guards.ts'
import type { ErrorStatus } from './wire.ts'
import type { UpstreamFailure } from '../provider.ts'

const statuses: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  ABORTED: 409,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 499,
  INTERNAL: 500,
  UNKNOWN: 500,
  DATA_LOSS: 500,
  UNIMPLEMENTED: 501,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504
}

/** A status other than 2xx as one of our errors. */
export function readError ({ status, headers, body }: UpstreamFailure): GatewayError {
  const said = statusIn(body)
  return classify(status, said, retryAfterSeconds(headers) ?? retryDelay(said))
}

/** An error in the place of an answer, or `undefined` when there is none. */
export function inBandError (wire: Record<string, unknown>): GatewayError | undefined {
  if (wire['error'] === undefined || wire['error'] === null) return undefined
  const said = statusIn(wire)
  const status = typeof said.code === 'number' && said.code >= 400 ? said.code : statuses[said.status ?? ''] ?? 500
  return classify(status, said, retryDelay(said))
}

function statusIn (body: unknown): ErrorStatus {
  const outer = objectOf(Array.isArray(body) ? body[0] : body)
  return objectOf(outer?.['error']) ?? {}
}

function classify (status: number, said: ErrorStatus, waitSeconds: number | undefined): GatewayError {
  const message = typeof said.message === 'string' && said.message !== '' ? scrubbed(said.message) : undefined
  const cause = { status, said: said.status, message }
  const make = (code: ErrorCode, options: GatewayErrorOptions = {}): GatewayError =>
    new GatewayError(code, { cause, ...options })

  if (isCredentialProblem(status, said)) {
    return make('upstream_auth_failed', {
      withOwnKey: make('invalid_provider_key', { message, status: status === 400 ? 401 : status })
    })
  }
  if (status === 402) return make('upstream_quota_exhausted', { withOwnKey: make('insufficient_quota', { message }) })
  if (status === 400 && /token count.{0,200}exceeds|exceeds the (?:maximum|limit).{0,200}tokens/i.test(message ?? '')) {
    return make('context_length_exceeded', { message, param: 'messages' })
  }
  switch (status) {
    case 404: return make('model_not_found', { message, param: 'model' })
    case 413: return make('file_too_large', { message })
    case 429: return make('rate_limit_exceeded', {
      message: 'The provider is limiting requests. Try again later.', retryAfterSeconds: waitSeconds
    })
    case 503: return make('upstream_overloaded', { retryAfterSeconds: waitSeconds })
    case 408: case 504: return make('upstream_timeout')
    // Another operation was in the way, or a proxy gave up: neither is the caller's doing.
    case 409: case 499: return make('upstream_error')
    default: return status >= 400 && status < 500
      ? make('upstream_invalid_request', { message, status })
      : make('upstream_error')
  }
}

/** A wrong key is a 400 here; so are an account without billing and a region that is not served. */
function isCredentialProblem (status: number, { status: name, message, details }: ErrorStatus): boolean {
  if (status === 401 || status === 403) return true
  if (status !== 400) return false
  return objectsOf(details).some(({ reason }) => reason === 'API_KEY_INVALID' || reason === 'API_KEY_EXPIRED') ||
    /api key (?:not valid|expired)/i.test(message ?? '') ||
    (name === 'FAILED_PRECONDITION' && /enable billing|location is not supported/i.test(message ?? ''))
}

/** `RetryInfo.retryDelay`, a duration such as `34.4s`, in whole seconds from 1 to 60. */
function retryDelay ({ details }: ErrorStatus): number | undefined {
  for (const { retryDelay: delay } of objectsOf(details)) {
    const seconds = typeof delay === 'string' ? /^([\d.]+)s$/.exec(delay)?.[1] : undefined
    if (seconds !== undefined && Number.isFinite(Number(seconds))) return clampSeconds(Number(seconds))
  }
  return undefined
}

/** Beside what every provider may let slip: project numbers. */
function scrubbed (text: string): string {
  return redact(text).replace(/(\bprojects?(?:_number)?[:/ =]+)[\w-]*\d[\w-]*/gi, '$1[redacted]')
}
