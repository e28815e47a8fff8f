/**
 * Deferred completions of xAI: the same request with a flag gives an id, under which the completion
 * is handed out exactly once, within a day.
 *
 * @see https://docs.x.ai/docs/guides/deferred-chat-completions
 */

import { GatewayError } from '../../core/errors.ts'
import { chatRequest as dialectRequest } from '../chat-completions/chat-request.ts'
import { objectOf } from '../../json/guards.ts'
import { xaiBody } from './chat-request.ts'
import { flatError, readError } from './errors.ts'
import type { AdapterOf } from '../provider.ts'

/** What may stand in a path: nothing that leads elsewhere. */
const plainId = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,256}$/

export const xaiDeferred: AdapterOf<'deferred'> = {
  request: ask => dialectRequest(ask, { ...xaiBody(ask), deferred: true }),
  response: body => {
    const error = flatError(body)
    if (error !== undefined) throw error
    const id = objectOf(body)?.['request_id']
    if (typeof id === 'string' && plainId.test(id)) return [{ type: 'result', result: id }]
    throw new GatewayError('upstream_invalid_response', { cause: 'no request_id' })
  },
  stream: () => { throw new GatewayError('internal_error', { cause: 'a deferred call is not streamed' }) },
  error: readError,
  fetch: upstreamId => ({
    method: 'GET',
    path: `/chat/deferred-completion/${encodeURIComponent(upstreamId)}`,
    headers: { accept: 'application/json' }
  })
}
