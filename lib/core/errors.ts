/**
 * Defines the error class and the table of error codes.
 *
 * A pipeline that rejects becomes a reply with `status` and `toBody()`; after the first batch, the error is
 * the last message of the event stream, in the form of its dialect. Messages address the caller and never
 * contain a key; of a provider's error at most its message, without secrets. The rest goes into `cause`, for
 * the log.
 */

import type { ErrorBody, ValidationErrorBody } from '../../schemas/errors.ts'
import type { DirectDialect } from './events.ts'
import type { Usage } from './usage.ts'

export type ErrorType = ErrorBody['error']['type']

/** The kind of failure, which decides what may be tried next (see `attempts/call-attempts`). */
export type FaultKind =
  /** Another attempt would not help: the request itself is at fault, or the gateway. */
  | 'final'
  /** This provider lacks something that the request needs; another provider might have it. */
  | 'unsupported'
  /** The request is too long for this model; another model might accept it. */
  | 'context_length'
  /** This provider, or the server at its `base_url`, does not have the model; another one might. */
  | 'model'
  /** This credential cannot be used (401, 402, 403, exhausted quota): try another, then the next model. */
  | 'credential'
  /** 429: try another credential, wait as long as the provider asks, or try the next model. */
  | 'rate_limit'
  /** Network error, 5xx or unreadable answer: the same model may answer a moment later. */
  | 'transient'

interface CodeRow { status: number, type: ErrorType, message: string, fault?: FaultKind }

/**
 * Every code that Headgate sends, with its status, type and default message. Codes that begin with
 * `upstream_` are faults of a provider. Clients know only four types, so some do not match their status: a
 * 402 is an `invalid_request_error`.
 */
export const codes = {
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'Missing or invalid API key. Send it as `Authorization: Bearer <key>` or `X-API-Key`.'
  },
  invalid_credentials: {
    status: 401,
    type: 'authentication_error',
    message: 'Sign-in failed: the credentials are wrong, used or expired.'
  },
  insufficient_permissions: {
    status: 403,
    type: 'authentication_error',
    message: 'Insufficient permissions.'
  },
  invalid_provider_key: {
    status: 401,
    type: 'authentication_error',
    message: 'The provider refused the key in `X-Provider-Key`.',
    fault: 'credential'
  },
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The body must be a JSON object.'
  },
  invalid_value: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A parameter has an invalid value.'
  },
  unsupported_value: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This model does not support this value.'
  },
  unsupported_parameter: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This model does not support this parameter.',
    fault: 'unsupported'
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The input exceeds the context length of the model.',
    fault: 'context_length'
  },
  content_policy_violation: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The provider refused the content of this request.'
  },
  content_refused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A guard of this gateway refused this call.'
  },
  invalid_document: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The document cannot be processed.'
  },
  unsupported_format: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The file format is not supported.'
  },
  upstream_invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The provider refused the request.'
  },
  unknown_provider: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This provider is not configured.'
  },
  insufficient_quota: {
    status: 402,
    type: 'invalid_request_error',
    message: 'The budget, or the quota of the account at the provider, is exhausted.'
  },
  not_found: { status: 404, type: 'invalid_request_error', message: 'Not found.' },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'The model does not exist or is not enabled.',
    fault: 'model'
  },
  deferred_completion_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'No deferred completion has this id, or it has expired.'
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'Method not allowed.'
  },
  conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The request conflicts with the current state.'
  },
  request_timeout: {
    status: 408,
    type: 'invalid_request_error',
    message: 'The request body did not arrive in time.'
  },
  file_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is too large.'
  },
  too_many_values: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body has too many values.'
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    message: 'Send the body as application/json.'
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Try again later.',
    fault: 'rate_limit'
  },
  client_closed_request: {
    status: 499,
    type: 'server_error',
    message: 'The client closed the connection.'
  },
  client_too_slow: {
    status: 499,
    type: 'server_error',
    message: 'The client did not read the answer in time.'
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    message: 'Headgate could not handle the request because of an internal error.'
  },
  body_already_read: {
    status: 500,
    type: 'server_error',
    message:
      'Middleware in front of Headgate has read the body. Mount Headgate before it, or keep the body in `ctx.request.rawBody`.'
  },
  upstream_error: {
    status: 502,
    type: 'server_error',
    message: 'The provider failed to answer.',
    fault: 'transient'
  },
  upstream_unreachable: {
    status: 502,
    type: 'server_error',
    message: 'The provider could not be reached.',
    fault: 'transient'
  },
  upstream_invalid_response: {
    status: 502,
    type: 'server_error',
    message: 'The provider sent an invalid answer.',
    fault: 'transient'
  },
  upstream_stream_interrupted: {
    status: 502,
    type: 'server_error',
    message: 'The provider ended the stream before the answer was complete.',
    fault: 'transient'
  },
  upstream_auth_failed: {
    status: 502,
    type: 'server_error',
    message: 'The provider refused the credential of this gateway.',
    fault: 'credential'
  },
  upstream_quota_exhausted: {
    status: 503,
    type: 'server_error',
    message: 'The quota of the gateway at the provider is exhausted. Use a model of another provider.',
    fault: 'credential'
  },
  deferred_result_lost: {
    status: 502,
    type: 'server_error',
    message: 'The provider delivered the deferred result, but the gateway did not receive it.'
  },
  stage_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'A guard of this gateway is unavailable. Try again later.'
  },
  upstream_overloaded: {
    status: 503,
    type: 'server_error',
    message: 'The provider is overloaded.',
    fault: 'transient'
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    message: 'Too many concurrent calls. Try again later.'
  },
  shutting_down: {
    status: 503,
    type: 'server_error',
    message: 'Headgate is shutting down.'
  },
  upstream_timeout: {
    status: 504,
    type: 'server_error',
    message: 'The provider did not answer in time.',
    fault: 'transient'
  },
  upstream_too_slow: {
    status: 504,
    type: 'server_error',
    message: 'The provider streamed its answer too slowly.',
    fault: 'transient'
  },
  timeout: {
    status: 504,
    type: 'server_error',
    message: 'The request timed out.'
  }
} as const satisfies Record<string, CodeRow>

export type ErrorCode = keyof typeof codes

/** Returns the default message of a code; `undefined` for a code of another version. */
export function defaultMessage (code: string | undefined): string | undefined {
  // `in` has shown that it is a code.
  return code !== undefined && code in codes ? codes[code as ErrorCode].message : undefined
}

/**
 * Returns true for the code of an attempt that failed because of the provider, its network or the gateway's
 * account there, rather than because of the request, the caller's own key or a caller who left.
 */
export function isProviderFault (code: string): boolean {
  const row: CodeRow | undefined = code in codes ? codes[code as ErrorCode] : undefined // `in` has shown it
  return (
    code !== 'invalid_provider_key' &&
    (row?.fault === 'transient' || row?.fault === 'rate_limit' || row?.fault === 'credential')
  )
}

/** An error as a provider wrote it, for callers of the same dialect: clients react to its wording. */
export interface OriginalError {
  readonly dialect: DirectDialect
  readonly status: number
  readonly body: string
}

/** What a failed attempt tells about itself: it decides what is tried and billed. Callers do not see it. */
export interface AttemptFacts {
  fault?: FaultKind | undefined
  /**
   * True if the provider had accepted the request: it is billed, so the same model is not tried again. False
   * if it did no work; absent if the code of the error tells.
   */
  acceptedByProvider?: boolean | undefined
  /**
   * True if the provider may have done the work and bill it: an estimate counts, and the same model may be
   * tried again.
   */
  mayBeBilled?: boolean | undefined
  /** Usage of the failed request, if the provider reported it. */
  usage?: Usage | undefined
  /** The usage of each request, if `usage` is the sum of several. */
  requests?: readonly Usage[] | undefined
  /** True if the usage of the failed request has been recorded already, part by part. Default: false. */
  isRecorded?: boolean | undefined
  /**
   * True if the connection had been idle and was closed as the request was sent: the same request may be sent
   * immediately over another connection.
   */
  staleConnection?: boolean | undefined
}

/** `message`, `status`, `type` and `fault` default to those of the code. */
export interface GatewayErrorOptions extends AttemptFacts {
  /** Message for the caller. */
  message?: string | undefined
  /** The parameter at fault, as the caller wrote it: `messages[0].content`. */
  param?: string | undefined
  /** Overrides the table's status, for upstream 4xx that pass through. */
  status?: number | undefined
  type?: ErrorType | undefined
  /** The provider's own code, if it says more than the gateway's. */
  shownCode?: string | undefined
  /** Seconds for `retry-after`. What a provider asks for is clamped to 1–60. */
  retryAfterSeconds?: number | undefined
  /** Headers of the reply that describe a limit: the provider's, or the gateway's. */
  rateLimits?: Readonly<Record<string, string>> | undefined
  /** The provider's own error, for callers who speak its dialect. */
  original?: OriginalError | undefined
  /** Only for the log. */
  cause?: unknown
}

export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly type: ErrorType
  readonly param: string | null
  readonly fault: FaultKind
  readonly retryAfterSeconds: number | undefined
  readonly rateLimits: Readonly<Record<string, string>> | undefined
  readonly acceptedByProvider: boolean | undefined
  readonly mayBeBilled: boolean
  readonly usage: Usage | undefined
  readonly requests: readonly Usage[] | undefined
  readonly isRecorded: boolean
  readonly staleConnection: boolean
  readonly original: OriginalError | undefined
  readonly #options: GatewayErrorOptions

  constructor (code: ErrorCode, options: GatewayErrorOptions = {}) {
    const row: CodeRow = codes[code]
    super(options.message ?? row.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GatewayError'
    this.#options = options
    this.code = code
    this.status = options.status ?? row.status
    this.type = options.type ?? row.type
    this.param = options.param ?? null
    this.fault = options.fault ?? row.fault ?? 'final'
    this.retryAfterSeconds = options.retryAfterSeconds
    this.rateLimits = options.rateLimits
    this.acceptedByProvider = options.acceptedByProvider
    this.mayBeBilled = options.mayBeBilled ?? false
    this.usage = options.usage
    this.requests = options.requests
    this.isRecorded = options.isRecorded ?? false
    this.staleConnection = options.staleConnection ?? false
    this.original = options.original
  }

  /** Returns a copy of the error with other options. */
  with (changes: GatewayErrorOptions): GatewayError {
    return new GatewayError(this.code, { ...this.#options, ...changes })
  }

  /** The code that callers see: the provider's own if it is more useful to them. */
  get shownCode (): string {
    return this.#options.shownCode ?? this.code
  }

  /** Returns the JSON body of the reply. */
  toBody (): ErrorBody {
    const { message, type, param } = this
    return { error: { message, type, code: this.shownCode, param } }
  }

  /**
   * Returns reply headers for the error: `retry-after` on every 429 and 503, and on any other whose delay is
   * known; the limits that were hit, if the provider sent them; and `x-should-retry: false` where the
   * official clients would retry in vain.
   */
  headers (): Record<string, string> {
    const overloadedHeaders = {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': `${this.retryAfterSeconds ?? 1}s`
    }
    const headers: Record<string, string> = {
      ...this.code === 'overloaded' && overloadedHeaders,
      ...this.rateLimits
    }
    const retryable =
      this.fault === 'transient' ||
      this.fault === 'rate_limit' ||
      this.code === 'overloaded' ||
      this.code === 'shutting_down'
    const waitSeconds = this.retryAfterSeconds ?? (this.status === 429 || this.status === 503 ? 1 : undefined)
    if (waitSeconds !== undefined) headers['retry-after'] = String(waitSeconds)
    if (
      !retryable &&
      (this.status === 402 || this.status === 408 || this.status === 429 || this.status >= 500)
    ) {
      headers['x-should-retry'] = 'false'
    }
    return headers
  }
}

/** One entry of a 422 reply, in the vocabulary of pydantic 2. */
export type ValidationDetail = ValidationErrorBody['detail'][number]

/**
 * Means a body of the wrong shape: 422 with `{ detail: [...], error }`, with one entry of `detail` for each
 * invalid field. `error` describes the first of them, for clients that show nothing else.
 */
export class ValidationError extends GatewayError {
  readonly detail: ValidationDetail[]

  constructor (detail: ValidationDetail[]) {
    super('invalid_value', {
      status: 422,
      ...(detail[0] === undefined ? { message: 'The request is invalid.' } : errorOf(detail[0]))
    })
    this.name = 'ValidationError'
    this.detail = detail
  }

  override toBody (): ValidationErrorBody {
    return { detail: this.detail, ...super.toBody() }
  }
}

function errorOf ({
  loc,
  msg,
  type
}: ValidationDetail): Pick<GatewayErrorOptions, 'message' | 'param' | 'shownCode'> {
  const param = pathOf(loc)
  const message = msg.replace(/^Value error, /, '')
  return param === ''
    ? { message: `${message}.`, shownCode: codeOf(type) }
    : { message: `Invalid value for \`${param}\`: ${message}.`, param, shownCode: codeOf(type) }
}

/** Returns a path in OpenAI's notation, without its leading `body` or `query`: `messages[0].content`. */
function pathOf ([, ...loc]: ValidationDetail['loc']): string {
  let path = ''
  for (const step of loc) path += typeof step === 'number' ? `[${step}]` : path === '' ? step : `.${step}`
  return path
}

function codeOf (type: string): string {
  if (type === 'missing') return 'missing_required_parameter'
  return type.endsWith('_type') ? 'invalid_type' : 'invalid_value'
}

/**
 * Returns true for an answer that a guard of the gateway refused: an answer that has begun ends like filtered
 * content.
 */
export function isRefused ({ code }: GatewayError): boolean {
  return code === 'content_refused'
}

/** Returns a `GatewayError`: anything unexpected becomes `internal_error` with the original as cause. */
export function asGatewayError (error: unknown): GatewayError {
  return error instanceof GatewayError ? error : new GatewayError('internal_error', { cause: error })
}

/** Returns the error for a pipeline that ended without a value: a stage lost it, which is a bug. */
export function emptyPipeline (): GatewayError {
  return new GatewayError('internal_error', { cause: 'the pipeline ended without a value' })
}

/** Creates the error for a parameter with a value that no model accepts. */
export function invalidValue (param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', { param, message })
}

/** Creates the error for a value that the model or its provider does not support. */
export function unsupportedValue (param: string, message: string): GatewayError {
  return new GatewayError('unsupported_value', { param, message })
}

/** Creates the error for a parameter that the model or its provider does not support. */
export function unsupportedParameter (param: string, message: string): GatewayError {
  return new GatewayError('unsupported_parameter', { param, message })
}

/** Creates the error for an answer that exceeds a bound of the gateway. */
export function answerTooLarge (): GatewayError {
  return new GatewayError('upstream_invalid_response', { message: "The provider's answer is too large." })
}
