/**
 * Deferred completions of xAI: the same request with a flag gives an id, under which the completion
 * is handed out exactly once, within a day.
 *
 * @see https://docs.x.ai/docs/guides/deferred-chat-completions
 */

import { chatRequest as dialectRequest } from '../chat-completions/chat-request.ts'
import { objectOf } from '../../json/guards.ts'
import { raise } from '../provider-failure.ts'
import { xaiBody } from './chat-request.ts'
import { flatError, readError } from './errors.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { AdapterOf } from '../provider.ts'

/** An id that may stand in a path: nothing that leads elsewhere. */
const plainId = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,256}$/

export const xaiDeferred: AdapterOf<'deferred'> = {
  request: ask => dialectRequest(ask, { ...xaiBody(ask), deferred: true }),
  read: () => ({ as: 'json', read: readReceipt }),
  error: readError,
  fetch: upstreamId => ({
    method: 'GET',
    path: `/chat/deferred-completion/${encodeURIComponent(upstreamId)}`,
    headers: { accept: 'application/json' }
  })
}

function readReceipt (body: unknown): Array<ResultEvent<string>> {
  const id = objectOf(body)?.['request_id']
  if (typeof id === 'string' && plainId.test(id)) return [{ type: 'result', result: id }]
  return raise(flatError(body), 'no request_id')
}
