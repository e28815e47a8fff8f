/**
 * Deferred completions of xAI: the request with a flag returns an id, which gives the completion once, within
 * a day.
 *
 * @see https://docs.x.ai/docs/guides/deferred-chat-completions
 */

import { chatRequest as dialectRequest } from '../chat-completions/chat-request.ts'
import { objectOf } from '../../json/type-guards.ts'
import { throwFailure } from '../provider-failure.ts'
import { xaiBody } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { flatError, readError } from './errors.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterOf, AdapterInput, DeferralResult } from '../provider.ts'

/** Ids that are safe as a path segment. */
const plainId = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,256}$/

export const xaiDeferred: AdapterOf<'deferred'> = {
  request: input => dialectRequest(input, { ...xaiBody(input), deferred: true }),
  read: (_head, input) => ({ as: 'json', read: body => readReceipt(body, input) }),
  error: readError,
  fetch: upstreamId => ({
    method: 'GET',
    path: `/chat/deferred-completion/${encodeURIComponent(upstreamId)}`,
    headers: { accept: 'application/json' }
  })
}

/** Reads the id, or the completion if xAI returns it immediately. */
function readReceipt (body: unknown, input: AdapterInput<ChatInput>): Array<ResultEvent<DeferralResult>> {
  const receipt = objectOf(body)
  const id = receipt?.['request_id']
  if (typeof id === 'string' && plainId.test(id)) return [{ type: 'result', result: id }]
  if (Array.isArray(receipt?.['choices'])) {
    return [{ type: 'result', result: { completion: readResponse(body, input) } }]
  }
  return throwFailure(flatError(body), 'the response has no request_id')
}
