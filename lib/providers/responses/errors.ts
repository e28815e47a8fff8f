/** Errors of this API: before the head those of chat completions, in a response a code and a message. */

import { readError as readDialectError } from '../chat-completions/errors.ts'
import { nonEmptyText, objectOf } from '../../json/guards.ts'
import { ProviderFailure, aboutInput, type Failure } from '../provider-failure.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { UpstreamFailure } from '../provider.ts'

/** The fields of chat completions that are others here. */
const chatNames: Readonly<Record<string, string>> = {
  input: 'messages',
  max_output_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  text: 'response_format'
}

/** States what a status other than 2xx means, with the parameter by its name in chat completions. */
export function readError (failure: UpstreamFailure): Failure {
  const stated = readDialectError(failure)
  const [field = ''] = stated.param?.split(/[.[]/, 1) ?? []
  return field in chatNames ? { ...stated, param: chatNames[field] } : stated
}

/** States the same for callers of this API. A path that is not found is a server without it, which may have the answer by another. */
export function readDirectError (failure: UpstreamFailure, action?: DirectRequest['action']): Failure {
  const stated = aboutInput(readDialectError(failure))
  if (action !== undefined) return stated
  const isMissing = failure.status === 405 || failure.status === 501 || (stated.kind === 'model' && !/model|deployment/i.test(`${stated.message} ${String(stated.cause?.['code'])}`))
  return isMissing ? { ...stated, kind: 'missing_api' } : stated
}

const statuses: Readonly<Record<string, number>> = {
  server_error: 500, vector_store_timeout: 504, rate_limit_exceeded: 429, slow_down: 503, server_is_overloaded: 503
}

/**
 * Makes the error of a response that failed, or of an event that says so.
 *
 * @param error with a code; other codes than those of the server are about the request
 */
export function failedResponse (error: unknown): ProviderFailure {
  const said = objectOf(error) ?? {}
  const code = nonEmptyText(said['code']) ?? nonEmptyText(said['type']) ?? 'server_error'
  return new ProviderFailure(readDirectError({ status: statuses[code] ?? 400, headers: {}, body: { error: { ...said, code } } }))
}
