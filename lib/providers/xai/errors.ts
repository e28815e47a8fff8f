/**
 * xAI's errors: mostly flat, `{ "code": "<text>", "error": "<text>" }`, sometimes with status 200; the code's
 * text then implies the status.
 *
 * @see https://docs.x.ai/docs/key-information/debugging
 */

import { readError as readDialectError } from '../chat-completions/errors.ts'
import { objectOf, nonEmptyText } from '../../json/type-guards.ts'
import type { Failure } from '../provider-failure.ts'
import type { UpstreamFailure } from '../provider.ts'

const statuses: ReadonlyArray<readonly [RegExp, number]> = [
  [/invalid argument|failed precondition|out of range/i, 400],
  [/unauthenticated|authentication/i, 401],
  [/permission/i, 403],
  [/not found/i, 404],
  [/exhausted|rate limit/i, 429],
  [/unavailable/i, 503]
]

/**
 * Interprets a non-2xx response. A content refusal is a 403 with the code of a rejected key: only its message
 * differs. That message names the team and the key, so it is replaced.
 */
export function readError (failure: UpstreamFailure): Failure {
  const { status } = failure
  const words = wordsOf(failure.body)
  if (/violates usage guidelines/i.test(words)) {
    const check = /Failed check: ([A-Z_]{1,64})/.exec(words)?.[1]
    return {
      kind: 'content_policy',
      cause: { status, check },
      ...check !== undefined && { message: `The provider refused the content of this request (${check}).` }
    }
  }
  if (status === 410) {
    return {
      kind: 'unsupported',
      message: 'Live search has been discontinued. Remove `search_parameters`.',
      param: 'search_parameters',
      cause: { status }
    }
  }
  return readDialectError(failure)
}

/** Reads the flat error in a response with status 200, if it is one. */
export function flatError (body: unknown): Failure | undefined {
  const response = objectOf(body)
  if (
    response === undefined ||
    response['choices'] !== undefined ||
    (nonEmptyText(response['error']) ?? nonEmptyText(response['code'])) === undefined
  ) {
    return undefined
  }
  return readError({ status: flatStatus(response), headers: {}, body })
}

/** Returns the status that a flat error's code implies. */
function flatStatus ({ code }: Record<string, unknown>): number {
  const words = nonEmptyText(code) ?? ''
  return statuses.find(([pattern]) => pattern.test(words))?.[1] ?? 500
}

function wordsOf (body: unknown): string {
  const answer = objectOf(body)
  const error = answer?.['error']
  return nonEmptyText(error) ?? nonEmptyText(objectOf(error)?.['message']) ?? nonEmptyText(body) ?? ''
}
