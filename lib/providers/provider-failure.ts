/**
 * A provider failure as data: its kind and the provider's message.
 *
 * Adapters produce it from a status and body, or from an error inside a successful response. They do not know
 * whose key was used; `callerError` turns the failure into an error for the caller.
 */

import {
  GatewayError,
  asGatewayError,
  type ErrorCode,
  type GatewayErrorOptions,
  type OriginalError
} from '../core/errors.ts'
import { redactOriginal } from './redact-original.ts'
import { redact, redactError } from '../text/redact.ts'
import type { Secret } from '../core/secret.ts'
import type { Usage } from '../core/usage.ts'

export type FailureKind =
  /** The key was refused. */
  | 'credential'
  /** The credit or the quota of the account is used up. */
  | 'quota'
  | 'rate_limit'
  | 'overloaded'
  | 'timeout'
  /** The provider does not have the model. */
  | 'model'
  | 'context_length'
  | 'content_policy'
  | 'too_large'
  | 'unsupported'
  /** The request was redirected: `base_url` is probably wrong. */
  | 'redirect'
  /** The server lacks the API for the caller's dialect, although its kind usually has it. */
  | 'missing_api'
  | 'invalid_document'
  | 'invalid_format'
  /** The caller's request was rejected for another reason. */
  | 'invalid_request'
  /** A request that the gateway created itself was rejected: not the caller's fault, and not retryable. */
  | 'rejected'
  /** Anything else. */
  | 'error'

export interface Failure {
  readonly kind: FailureKind
  /** The status the caller sees if the provider's own is passed on. */
  readonly status?: number | undefined
  /** The provider's message, verbatim. */
  readonly message?: string | undefined
  /** The invalid parameter. */
  readonly param?: string | undefined
  /** The provider's code, if more useful to the caller than ours. */
  readonly code?: string | undefined
  /** Seconds from 1 to 60. */
  readonly retryAfterSeconds?: number | undefined
  /** The provider's limits, as reply headers. */
  readonly rateLimits?: Readonly<Record<string, string>> | undefined
  /** The provider's error, for callers who speak its dialect. */
  readonly original?: OriginalError | undefined
  /** Usage of the failed request, if reported. */
  readonly usage?: Usage | undefined
  /** The usage of each request, if `usage` is the sum of several. */
  readonly requests?: readonly Usage[] | undefined
  /** Details for the log. */
  readonly cause?: Readonly<Record<string, unknown>> | undefined
}

/** Carries a failure from a reader to `callerError`. */
export class ProviderFailure extends Error {
  readonly failure: Failure
  /** Status of the response; `undefined` for an error inside a successful response. */
  readonly status: number | undefined

  constructor (failure: Failure, status?: number) {
    super(`the provider failed: ${failure.kind}`)
    this.name = 'ProviderFailure'
    this.failure = failure
    this.status = status
  }
}

/** Returns the usage attached to an attempt's error, if the provider reported any. */
export function usageOfError (error: unknown): Usage | undefined {
  if (error instanceof ProviderFailure) return error.failure.usage
  return error instanceof GatewayError ? error.usage : undefined
}

/** Returns the usage of each request of a failed attempt that the provider reported. */
export function requestsOfError (error: unknown): readonly Usage[] {
  const { usage, requests } =
    error instanceof ProviderFailure ? error.failure : error instanceof GatewayError ? error : {}
  return requests ?? (usage === undefined ? [] : [usage])
}

/**
 * Returns the error with the given usage, or with none.
 *
 * @param requests the usage of each request, if `usage` is the sum of several
 */
export function withUsage (
  error: unknown, usage: Usage | undefined, requests?: readonly Usage[]
): unknown {
  if (usageOfError(error) === usage && requests === undefined) return error
  return error instanceof ProviderFailure
    ? new ProviderFailure({ ...error.failure, usage, requests }, error.status)
    : asGatewayError(error).with({ usage, requests })
}

/** Throws the failure found in a response, or an error with the message `otherwise`. */
export function throwFailure (failure: Failure | undefined, otherwise: string): never {
  throw failure === undefined ? invalidResponse(otherwise) : new ProviderFailure(failure)
}

/** Creates the error for an unreadable response. @param cause only for the log */
export function invalidResponse (cause: unknown): GatewayError {
  return new GatewayError('upstream_invalid_response', { cause })
}

/** Creates the error for an answer of no bytes: the provider has done no work. */
export function emptyBodyError (): GatewayError {
  return new GatewayError('upstream_invalid_response', { acceptedByProvider: false, cause: 'empty body' })
}

/** Creates the error for an HTML page: the address is not that of the API, or a proxy has answered. */
export function webPageError (): GatewayError {
  return new GatewayError('upstream_invalid_response', {
    acceptedByProvider: false,
    message:
      'The provider sent a page of HTML, not JSON: its `base_url` in the configuration may be wrong (see `headgate doctor`).',
    cause: 'HTML'
  })
}

/**
 * Turns anything an attempt threw into an error for the caller, with secrets removed.
 *
 * @param secrets of the provider as configured
 * @param ownKey the caller's own key, if the call used it: its limits, quota and rejection concern the
 *   caller, those of the gateway's credential do not
 */
export function callerError (
  thrown: unknown,
  secrets: readonly Secret[] = [],
  ownKey?: Secret
): GatewayError {
  const texts = [...secrets, ...(ownKey === undefined ? [] : [ownKey])].map(secret => secret.reveal())
  if (thrown instanceof ProviderFailure) return errorOf(thrown.failure, texts, ownKey !== undefined)
  return redactError(asGatewayError(thrown), texts)
}

function errorOf (failure: Failure, secrets: readonly string[], isOwnKey: boolean): GatewayError {
  const { kind, status, retryAfterSeconds, rateLimits } = failure
  const [message, param, code] = [failure.message, failure.param, failure.code]
    .map(words => words === undefined ? undefined : redact(words, secrets))
  const cause = { ...failure.cause, ...message !== undefined && { message } }
  // Callers must not see what a provider says about the gateway's account.
  const isOurs = !isOwnKey && (kind === 'credential' || kind === 'quota')
  const original =
    failure.original === undefined || isOurs ? undefined : redactOriginal(failure.original, secrets, isOwnKey)
  const make = (code: ErrorCode, options: GatewayErrorOptions = {}): GatewayError =>
    new GatewayError(code, { cause, original, usage: failure.usage, requests: failure.requests, ...options })

  switch (kind) {
    case 'credential':
      return isOwnKey
        ? make('invalid_provider_key', { status: status === 403 ? 403 : 401, message })
        : make('upstream_auth_failed')
    case 'quota':
      return isOwnKey ? make('insufficient_quota', { message }) : make('upstream_quota_exhausted')
    case 'rate_limit':
      return make('rate_limit_exceeded', {
        message: isOwnKey ? message : 'The provider is limiting requests. Try again later.',
        retryAfterSeconds,
        rateLimits
      })
    case 'overloaded':
      return make('upstream_overloaded', { retryAfterSeconds })
    case 'timeout':
      return make('upstream_timeout')
    case 'model':
      return make('model_not_found', {
        message: saysNothing(failure) ? noModelOrAddress : message,
        param: param ?? 'model'
      })
    case 'context_length':
      return make('context_length_exceeded', { message, param: param ?? 'messages' })
    case 'content_policy':
      return make('content_policy_violation', { message, param, status, shownCode: code })
    case 'too_large':
      return make('file_too_large', { message, param })
    case 'unsupported':
      return make('unsupported_parameter', { message, param })
    case 'invalid_document':
      return make('invalid_document', { message, param })
    case 'invalid_format':
      return make('unsupported_format', { message, param })
    case 'invalid_request':
      return make('upstream_invalid_request', { message, param, status, shownCode: code })
    case 'rejected':
      return make('upstream_error', { fault: 'final' })
    case 'redirect':
      return make('upstream_invalid_response', { message, fault: 'model' })
    case 'missing_api':
    case 'error':
      return make('upstream_error')
  }
}

const noModelOrAddress =
  'The provider does not have this model, or its `base_url` in the configuration is wrong (see `headgate doctor`).'

/**
 * Returns true if a 404 does not concern the model: servers answer so for unknown paths, for example if the
 * base URL lacks `/v1`.
 */
function saysNothing ({ message, cause }: Failure): boolean {
  const code = cause?.['code'] ?? '404' // Some servers repeat the status as the code.
  return code === '404' && (message === undefined || /^(?:404 )?(?:page )?not found\.?$/i.test(message))
}
