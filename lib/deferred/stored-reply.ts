/** The replies to a caller who fetches a deferred completion, before and after it is stored. */

import { GatewayError } from '../core/errors.ts'
import { jsonReplyHeaders, type Reply } from '../core/reply.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import type { AuthedCall } from '../core/call.ts'

/** Returns a stored answer as a reply. A stored error is permanent: clients need not retry. */
export function storedReply ({
  status,
  body
}: {
  readonly status: number | null
  readonly body: string | null
}): Reply {
  const isFinalError = status !== null && status >= 400
  return {
    status: status ?? 200,
    headers: isFinalError ? { ...jsonReplyHeaders, 'x-should-retry': 'false' } : jsonReplyHeaders,
    body: body ?? ''
  }
}

/** Returns the reply while there is no answer yet: 202. */
export function pendingReply ({ params, record }: AuthedCall): Reply {
  record.request.isDeferred = true
  return {
    status: 202,
    headers: { ...jsonReplyHeaders, 'retry-after': '2' },
    body: JSON.stringify({ request_id: params['request_id'], status: 'pending' })
  }
}

/** Returns the error for a completion that is too large to store. */
export function completionTooLarge (maxBytes: number): GatewayError {
  return new GatewayError('file_too_large', {
    param: 'deferred',
    message: `The completion is larger than ${formatMegabytes(maxBytes)}, the most that is stored. Send the request without \`deferred\`.`
  })
}

/**
 * Returns the error for a completion that was returned once and not stored, because too much is stored for
 * its key.
 */
export function noRoomFor (maxBytes: number): GatewayError {
  return new GatewayError('insufficient_quota', {
    status: 429,
    message: `The completion was already returned and was not stored: the deferred completions of this key are close to the limit of ${formatMegabytes(maxBytes)}.`
  })
}
