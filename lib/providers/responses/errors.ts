/** Errors of this API: before the head those of chat completions, in a response a code and a message. */

import { codeOf, readError as readDialectError, statusIn } from '../chat-completions/errors.ts'
import { nonEmptyText, objectOf } from '../../json/guards.ts'
import { ProviderFailure, aboutInput, type Failure } from '../provider-failure.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { UpstreamFailure } from '../provider.ts'
import { responseUsage } from './usage.ts'
import type { WireResponse } from './wire.ts'

/** The fields of chat completions that are others here. */
const chatNames: ReadonlyMap<string, string> = new Map([
  ['input', 'messages'],
  ['max_output_tokens', 'max_completion_tokens'],
  ['reasoning', 'reasoning_effort'],
  ['text', 'response_format']
])

/** States what a status other than 2xx means, with the parameter by its name in chat completions. */
export function readError (failure: UpstreamFailure): Failure {
  const stated = readDialectError(failure)
  const [field = ''] = stated.param?.split(/[.[]/, 1) ?? []
  const param = chatNames.get(field)
  return param === undefined ? stated : { ...stated, param }
}

/**
 * States the same for callers of this API. A server without it may have the answer by another one. An object
 * that is not found is the fault of the request, which names it: there is nothing of it elsewhere.
 */
export function readDirectError (failure: UpstreamFailure, action?: DirectRequest['action']): Failure {
  const stated = aboutInput(readDialectError(failure))
  if (failure.status === 405 || failure.status === 501 || (stated.kind === 'model' && isAboutPath(stated))) {
    return action === undefined ? { ...stated, kind: 'missing_api' } : stated
  }
  if (stated.kind !== 'model' || isAboutModel(stated)) return stated
  return { ...aboutInput(readDialectError({ ...failure, status: 400 })), status: 404, cause: stated.cause }
}

/** The beginnings of what servers and proxies say about a path that they do not have. */
const missingPath =
  /^(?:404\W{0,3})?(?:(?:the )?(?:requested )?(?:endpoint|file|page|path|resource|route|url) (?:\/\S{1,100} )?)?(?:was )?not found\W{0,3}$|^(?:cannot post|default backend|invalid url|no (?:endpoint|route)|route post|the requested url|un(?:expected|known) (?:request )?(?:endpoint|path|route|url))\b/i

/** Codes that name no object. */
const codeOfPath = /^(?:\d+|(?:resource_?)?not_?found(?:_error)?|(?:invalid|unknown)_url)$/i

/** Returns whether an error inside a response is about its path: some servers say so under status 200. */
export function saysMissingPath (error: unknown): boolean {
  return typeof error === 'string' && missingPath.test(error)
}

/**
 * Returns whether a 404 is about the path. Words that only quote such a sentence are about what they name.
 */
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

/** Codes about the request, as the specification names them: of its fields, of its images, of a policy. */
const requestCode =
  /^(?:invalid_(?:request|prompt|value|type|image|base64_image)|(?:unsupported|missing)_|unknown_parameter$|image_(?!generation)|empty_image_file$|failed_to_download_image$|data_residency_mismatch$)|_policy(?:_violation)?$/

/**
 * Makes the error of a response that failed, or of an event that says so.
 *
 * @param error with a code; other codes than those about the request are about the provider, which may be
 *   another server with words of its own
 * @param response that failed, which may say what it used. Default: there is none
 */
export function failedResponse (error: unknown, response: WireResponse = {}): ProviderFailure {
  const said = objectOf(error) ?? {}
  const type = said['type'] === 'error' ? undefined : nonEmptyText(said['type']) // that of an event
  const code = codeOf(said['code']) ?? type ?? 'server_error'
  const status = statuses.get(code) ?? (requestCode.test(code) ? 400 : statusIn({ code, type }))
  const failure = readDialectError({ status, headers: {}, body: { error: { ...said, type, code } } })
  const usage = responseUsage(response)
  return new ProviderFailure({ ...aboutInput(failure), ...usage !== undefined && { usage } })
}
