/**
 * Failures of the dialect, from a status and body or from an error inside a successful response. Bodies may
 * be nested, flat, a list of one, or plain text; `code` may be a string or a number.
 */

import { clampSeconds, retryAfterSeconds } from '../retry-after.ts'
import { objectOf, nonEmptyText } from '../../json/type-guards.ts'
import type { Failure, FailureKind } from '../provider-failure.ts'
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
/** Codes and types of errors for an unknown model, which some servers send with the status 400 or 403. */
const modelCodes = new Set(['model_not_found', 'invalid_model'])
const policyCodes = new Set(['content_policy_violation', 'moderation_blocked', 'content_filter'])

/** Interprets a non-2xx response. */
export function readError ({ status, headers, body }: UpstreamFailure): Failure {
  return classify(status, saidIn(body), retryAfterSeconds(headers))
}

/**
 * Reads an error inside a response with status 200, if there is one.
 *
 * @param isErrorEvent true if the stream's event name was `error`
 */
export function inBandError (answer: Record<string, unknown>, isErrorEvent: boolean): Failure | undefined {
  const { error } = answer
  const isFlat = answer['object'] === 'error' || answer['type'] === 'error' ||
    (answer['choices'] === undefined && answer['code'] !== undefined && answer['message'] !== undefined)
  const hasError = error !== undefined && error !== null && error !== false && error !== ''
  if (!hasError && !isFlat && !isErrorEvent) return undefined
  const said = saidIn(answer)
  return classify(statusIn(said), said, undefined)
}

function saidIn (body: unknown): Said {
  const outer = objectOf(Array.isArray(body) ? body[0] : body)
  if (outer === undefined) {
    return { message: nonEmptyText(body), code: undefined, type: undefined, param: undefined }
  }
  const inner = objectOf(outer['error']) ?? outer
  const words = outer['error'] ?? outer['message'] ?? outer['detail']
  const invalid = invalidField(words)
  return {
    message: nonEmptyText(inner['message']) ?? nonEmptyText(words) ?? invalid?.message,
    code: codeOf(inner['code']) ?? codeOf(outer['code']),
    type: nonEmptyText(inner['type']),
    param: nonEmptyText(inner['param']) ?? invalid?.param
  }
}

/**
 * Reads the first of a list of invalid fields, as pydantic prints it:
 * `{ detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'Field required' }] }`.
 */
function invalidField (words: unknown): Pick<Said, 'message' | 'param'> | undefined {
  const rows = Array.isArray(words) ? words : objectOf(words)?.['detail']
  const { loc, msg } = objectOf(Array.isArray(rows) ? rows[0] : undefined) ?? {}
  const reason = nonEmptyText(msg)
  if (reason === undefined) return undefined
  const [place, field, ...rest] = Array.isArray(loc) ? loc : []
  const name = place === 'body' ? nonEmptyText(field) : undefined
  if (name === undefined) return { message: reason, param: undefined }
  // Names of types may follow the index, which are no fields.
  const param = typeof rest[0] === 'number' ? `${name}[${rest[0]}]` : name
  return { message: `${param}: ${reason}`, param }
}

/** Returns an error code as text, if there is one. */
export function codeOf (code: unknown): string | undefined {
  return typeof code === 'number' ? String(code) : nonEmptyText(code)
}

/** Returns the status of an error inside a successful response; many servers put it into `code`. */
export function statusIn ({ code, type }: Pick<Said, 'code' | 'type'>): number {
  const number = Number(code)
  if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  if (type === 'authentication_error') return 401
  if (type === 'permission_error') return 403
  if (type === 'rate_limit_error' || code === 'rate_limit_exceeded') return 429
  if (type === 'invalid_request_error' || code === 'tool_use_failed' || policyCodes.has(code ?? '')) {
    return 400
  }
  return 500
}

/** Servers say in different words that a prompt is longer than the context of the model. */
function saysTooLong (status: number, message: string): boolean {
  if (/context (length|window|size)|maximum context/i.test(message)) return true
  return (status === 400 || status === 413) &&
    /maximum prompt length|(?:prompt|input) is too long|token count.{0,200}exceeds/i.test(message)
}

function classify (status: number, said: Said, retryAfterSeconds: number | undefined): Failure {
  const { message, param, code, type } = said
  const fact = (kind: FailureKind, more: Partial<Failure> = {}): Failure =>
    ({ kind, message, cause: { status, code, type, param }, ...more })
  const known = code ?? ''

  if (isKeyProblem(status, said)) return fact('credential', { status })
  if (quotaCodes.has(known) || type === 'insufficient_quota' || status === 402) return fact('quota')
  if (contextCodes.has(known) || saysTooLong(status, message ?? '')) {
    return fact('context_length', { param: param ?? 'messages' })
  }
  if (modelCodes.has(known) || modelCodes.has(type ?? '')) return fact('model', { param: param ?? 'model' })
  switch (status) {
    case 404: return fact('model', { param: param ?? 'model' })
    case 410: return fact('unsupported', { param })
    case 413: return fact('too_large', { param })
    case 429: return fact('rate_limit', { retryAfterSeconds: retryAfterSeconds ?? waitIn(message) })
    case 408: case 425: case 504: return fact('timeout')
    case 409: return fact('error')
    case 498: case 503: case 529: return fact('overloaded', { retryAfterSeconds })
    default:
  }
  if (status < 400 || status >= 500) return fact('error')
  const shown = { param, status: status === 422 ? 400 : status }
  const isNamed = code !== undefined && !/^\d+$/.test(code) // some servers repeat the status as the code
  return policyCodes.has(known)
    ? fact('content_policy', { ...shown, code: known })
    : fact('invalid_request', { ...shown, ...isNamed && { code } })
}

/** xAI answers 400 for a wrong key, and 403 for both keys and content. */
function isKeyProblem (status: number, { message = '', code }: Said): boolean {
  if (/violates usage guidelines/i.test(message)) return false
  return status === 401 || (status === 403 && code !== 'model_not_found') ||
    code === 'invalid_api_key' || /(incorrect|invalid) api key/i.test(message)
}

/** Parses `Please try again in 600ms` and `in 1m2.5s`, for responses without `retry-after`. */
function waitIn (message: string | undefined): number | undefined {
  const found = /try again in (?:(\d+)m(?!s))?(?:([\d.]+)(ms|s))?/i.exec(message ?? '')
  if (found === null || (found[1] === undefined && found[2] === undefined)) return undefined
  const seconds = Number(found[2] ?? 0) / (found[3] === 'ms' ? 1000 : 1)
  return clampSeconds(Number(found[1] ?? 0) * 60 + seconds)
}
