/**
 * What a failure of the dialect means: from a status and a body, or from an error inside an
 * answer that claimed to be fine.
 *
 * Bodies come nested, flat, as a list of one, or as words; `code` comes as text or number. Words
 * of the provider reach the caller only where the fault is the caller's, and only scrubbed.
 */

import { GatewayError, type ErrorCode, type GatewayErrorOptions } from '../../core/errors.ts'
import { redact } from '../../text/redact.ts'
import { clampSeconds, retryAfterSeconds } from '../retry-after.ts'
import { objectOf, textOf } from '../../json/guards.ts'
import type { UpstreamFailure } from '../provider.ts'

interface Said {
  readonly message: string | undefined
  readonly code: string | undefined
  readonly type: string | undefined
  readonly param: string | undefined
}

const quotaCodes = new Set([
  'insufficient_quota', 'credit_balance_exhausted', 'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded', 'organization_usage_limit_exceeded', 'billing_hard_limit_reached'
])
const contextCodes = new Set(['context_length_exceeded', 'string_above_max_length'])
const policyCodes = new Set(['content_policy_violation', 'moderation_blocked', 'content_filter'])

/** A status other than 2xx as one of our errors. */
export function readError ({ status, headers, body }: UpstreamFailure): GatewayError {
  return classify(status, saidIn(body), retryAfterSeconds(headers))
}

/**
 * An error inside an answer with status 200, or `undefined` when there is none.
 *
 * @param named true when the stream called the message an error itself
 */
export function inBandError (answer: Record<string, unknown>, named: boolean): GatewayError | undefined {
  const { error } = answer
  const flat = answer['object'] === 'error' || answer['type'] === 'error' ||
    (answer['choices'] === undefined && answer['code'] !== undefined && answer['message'] !== undefined)
  const present = error !== undefined && error !== null && error !== false && error !== ''
  if (!present && !flat && !named) return undefined
  const said = saidIn(answer)
  return classify(statusIn(said), said, undefined)
}

function saidIn (body: unknown): Said {
  const outer = objectOf(Array.isArray(body) ? body[0] : body)
  if (outer === undefined) return { message: textOf(body), code: undefined, type: undefined, param: undefined }
  const inner = objectOf(outer['error']) ?? outer
  const words = outer['error'] ?? outer['message'] ?? outer['detail']
  return {
    message: textOf(inner['message']) ?? textOf(words),
    code: codeOf(inner['code']) ?? codeOf(outer['code']),
    type: textOf(inner['type']),
    param: textOf(inner['param'])
  }
}

function codeOf (code: unknown): string | undefined {
  return typeof code === 'number' ? String(code) : textOf(code)
}

/** Many servers put the status into `code` of an error inside a stream. */
function statusIn ({ code, type }: Said): number {
  const number = Number(code)
  if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  if (type === 'authentication_error') return 401
  if (type === 'permission_error') return 403
  if (type === 'rate_limit_error' || code === 'rate_limit_exceeded') return 429
  if (type === 'invalid_request_error' || code === 'tool_use_failed' || policyCodes.has(code ?? '')) return 400
  return 500
}

function classify (status: number, said: Said, waitSeconds: number | undefined): GatewayError {
  const cause = { status, ...said, message: redact(said.message ?? '') }
  const make = (code: ErrorCode, options: GatewayErrorOptions = {}): GatewayError =>
    new GatewayError(code, { cause, ...options })
  const known = said.code ?? ''

  if (isKeyProblem(status, said)) {
    return make('upstream_auth_failed', {
      withOwnKey: make('invalid_provider_key', { status: status === 403 ? 403 : 401 })
    })
  }
  if (quotaCodes.has(known) || said.type === 'insufficient_quota' || status === 402) {
    return make('upstream_quota_exhausted', { withOwnKey: make('insufficient_quota') })
  }
  if (contextCodes.has(known) || /context (length|window|size)|maximum context/i.test(said.message ?? '')) {
    return make('context_length_exceeded', callersFault(said, { param: said.param ?? 'messages' }))
  }
  switch (status) {
    case 404: return make('model_not_found', callersFault(said, { param: said.param ?? 'model' }))
    case 410: return make('unsupported_parameter', { ...callersFault(said, {}), status: 400 })
    case 413: return make('file_too_large', callersFault(said, {}))
    case 429: return make('rate_limit_exceeded', {
      message: 'The provider is limiting requests. Try again later.',
      retryAfterSeconds: waitSeconds ?? waitIn(said.message)
    })
    case 408: case 425: case 504: return make('upstream_timeout')
    case 409: return make('upstream_error')
    case 498: case 503: case 529: return make('upstream_overloaded', { retryAfterSeconds: waitSeconds })
    default:
  }
  if (status >= 400 && status < 500) {
    const code = policyCodes.has(known) ? 'content_policy_violation' : 'upstream_invalid_request'
    const named = said.code !== undefined && !/^\d+$/.test(said.code) // some repeat the status there
    return make(code, callersFault(said, { shownCode: named ? said.code : code, status: status === 422 ? 400 : status }))
  }
  return make('upstream_error')
}

/** A refusal of the request: the provider's own words help the caller most. */
function callersFault (said: Said, options: GatewayErrorOptions): GatewayErrorOptions {
  return { message: said.message === undefined ? undefined : redact(said.message), param: said.param, ...options }
}

/** xAI answers 400 for a wrong key, and 403 both for keys and for content. */
function isKeyProblem (status: number, { message = '', code }: Said): boolean {
  if (/violates usage guidelines/i.test(message)) return false
  return status === 401 || (status === 403 && code !== 'model_not_found') ||
    code === 'invalid_api_key' || /(incorrect|invalid) api key/i.test(message)
}

/** `Please try again in 600ms` and `in 1m2.5s`, for answers without the header. */
function waitIn (message: string | undefined): number | undefined {
  const found = /try again in (?:(\d+)m(?!s))?(?:([\d.]+)(ms|s))?/i.exec(message ?? '')
  if (found === null || (found[1] === undefined && found[2] === undefined)) return undefined
  const seconds = Number(found[2] ?? 0) / (found[3] === 'ms' ? 1000 : 1)
  return clampSeconds(Number(found[1] ?? 0) * 60 + seconds)
}
