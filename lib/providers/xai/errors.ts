/**
 * xAI's errors: mostly flat, `{ "code": "<words>", "error": "<words>" }`, and also under status
 * 200, where the words of the code stand for the status.
 *
 * @see https://docs.x.ai/docs/key-information/debugging
 */

import { GatewayError } from '../../core/errors.ts'
import { chatCompletions } from '../chat-completions/index.ts'
import { objectOf, textOf } from '../../json/guards.ts'
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
 * A status other than 2xx as one of ours. A refusal of the content comes as 403 with the code of
 * a refused key: only its words tell, and they name the team and the key, so ours go out instead.
 */
export function readError (failure: UpstreamFailure): GatewayError {
  const words = wordsOf(failure.body)
  if (/violates usage guidelines/i.test(words)) {
    const check = /Failed check: ([A-Z_]+)/.exec(words)?.[1]
    return new GatewayError('content_policy_violation', {
      cause: { status: failure.status, check },
      ...(check === undefined ? {} : { message: `The provider refused the content of this request (${check}).` })
    })
  }
  if (failure.status === 410) {
    return new GatewayError('unsupported_parameter', {
      message: 'The provider has given up live search. Leave `search_parameters` out.',
      param: 'search_parameters',
      cause: { status: failure.status }
    })
  }
  return chatCompletions.error(failure)
}

/** The flat error that an answer with status 200 may be; `undefined` for any other answer. */
export function flatError (body: unknown): GatewayError | undefined {
  const answer = objectOf(body)
  if (answer === undefined || answer['choices'] !== undefined || textOf(answer['error']) === undefined) return undefined
  const code = textOf(answer['code']) ?? ''
  const status = statuses.find(([words]) => words.test(code))?.[1] ?? 500
  return readError({ status, headers: {}, body })
}

function wordsOf (body: unknown): string {
  const answer = objectOf(body)
  const error = answer?.['error']
  return textOf(error) ?? textOf(objectOf(error)?.['message']) ?? textOf(body) ?? ''
}
