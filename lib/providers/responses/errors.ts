/** Errors of this API: in responses, a code and a message; otherwise in the chat-completions format. */

import { codeOf, readError as readDialectError, statusIn } from '../chat-completions/errors.ts'
import { nonEmptyText, objectOf } from '../../json/type-guards.ts'
import { ProviderFailure, type Failure } from '../provider-failure.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { UpstreamFailure } from '../provider.ts'
import { responseUsage } from './usage.ts'
import type { WireResponse, WireStreamEvent } from './wire.ts'

/** Fields with other names than in chat completions. */
const chatNames: ReadonlyMap<string, string> = new Map([
  ['input', 'messages'],
  ['max_output_tokens', 'max_completion_tokens'],
  ['reasoning', 'reasoning_effort'],
  ['text', 'response_format']
])

/** Interprets a non-2xx response; `param` is renamed as in chat completions. */
export function readError (failure: UpstreamFailure): Failure {
  return inChatTerms(readDialectError(failure))
}

function inChatTerms (failure: Failure): Failure {
  const [field = ''] = failure.param?.split(/[.[]/, 1) ?? []
  const param = chatNames.get(field)
  return param === undefined ? failure : { ...failure, param }
}

/**
 * Interprets a non-2xx response for callers of this API. If the server lacks the API, another one may serve
 * the request. If an object is not found, the request is at fault: no other provider has it.
 */
export function readDirectError (failure: UpstreamFailure, action?: DirectRequest['action']): Failure {
  const stated = readDialectError(failure)
  if (failure.status === 405 || failure.status === 501 || (stated.kind === 'model' && isAboutPath(stated))) {
    return action === undefined ? { ...stated, kind: 'missing_api' } : stated
  }
  if (stated.kind !== 'model' || isAboutModel(stated)) return stated
  return { ...readDialectError({ ...failure, status: 400 }), status: 404, cause: stated.cause }
}

/** Start of messages with which servers and proxies report an unknown path. */
const missingPath =
  /^(?:404\W{0,3})?(?:(?:the )?(?:requested )?(?:endpoint|file|page|path|resource|route|url) (?:\/\S{1,100} )?)?(?:was )?not found\W{0,3}$|^(?:cannot post|default backend|invalid url|no (?:endpoint|route)|route post|the requested url|un(?:expected|known) (?:request )?(?:endpoint|path|route|url))\b/i

/** Codes that name no object. */
const codeOfPath = /^(?:\d+|(?:resource_?)?not_?found(?:_error)?|(?:invalid|unknown)_url)$/i

/** Returns true if an error inside a response concerns its path: some servers send it with status 200. */
export function reportsMissingPath (error: unknown): boolean {
  return typeof error === 'string' && missingPath.test(error)
}

/** Returns true if a 404 concerns the path, not an object whose name merely quotes such a message. */
function isAboutPath ({ message, cause }: Failure): boolean {
  const code = codeOf(cause?.['code'])
  if (cause?.['param'] !== undefined || (code !== undefined && !codeOfPath.test(code))) return false
  return message === undefined || missingPath.test(message)
}

function isAboutModel ({ message, cause }: Failure): boolean {
  const param = cause?.['param']
  return param === undefined
    ? /model|deployment/i.test(`${message} ${String(cause?.['code'])}`)
    : param === 'model'
}

const statuses: ReadonlyMap<string, number> = new Map([
  ['server_error', 500],
  ['vector_store_timeout', 504],
  ['rate_limit_exceeded', 429],
  ['too_many_requests', 429],
  ['slow_down', 503],
  ['server_is_overloaded', 503]
])

/** Codes from the specification that blame the request: its fields, images, or content policy. */
const requestCode =
  /^(?:invalid_(?:request|prompt|value|type|image|base64_image)|(?:unsupported|missing)_|unknown_parameter$|image_(?!generation)|empty_image_file$|failed_to_download_image$|data_residency_mismatch$)|_policy(?:_violation)?$/

/** Returns true for an error event without `type`, as proxies in front of this API send it. */
export function isUntypedError ({ type, error }: WireStreamEvent): boolean {
  return nonEmptyText(type) === undefined && error !== undefined && error !== null
}

/**
 * Creates the error for a failed response or an error event.
 *
 * @param error codes other than request codes blame the provider, which may be another server with its own
 *   codes
 * @param response the failed response, with its usage if reported. Default: none
 */
export function failedResponse (error: unknown, response: WireResponse = {}): ProviderFailure {
  const said = objectOf(error) ?? { message: error }
  const type = said['type'] === 'error' ? undefined : nonEmptyText(said['type']) // the type of the event
  const code = codeOf(said['code']) ?? type ?? 'server_error'
  const status = statuses.get(code) ?? (requestCode.test(code) ? 400 : statusIn({ code, type }))
  const failure = readDialectError({ status, headers: {}, body: { error: { ...said, type, code } } })
  const usage = responseUsage(response)
  return new ProviderFailure({
    ...failure,
    ...failure.param === 'input' && { param: 'messages' }, // as other failures; callers get their own name
    ...usage !== undefined && { usage }
  })
}

/** Creates the error of a translated stream as `failedResponse` does; `param` is that of chat completions. */
export function failedChat (error: unknown, response?: WireResponse): ProviderFailure {
  return new ProviderFailure(inChatTerms(failedResponse(error, response).failure))
}
