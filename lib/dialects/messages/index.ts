/** Anthropic's Messages API as a dialect of callers. */

import { MessagesRequest } from '../../../schemas/messages-request.ts'
import { toMessage } from './complete.ts'
import { emptyMessage } from './empty-message.ts'
import { encodeMessage } from './encode.ts'
import { messagesErrors } from './errors.ts'
import { fitRequest } from './fit.ts'
import { messagesInput, type MessagesContext } from './input.ts'
import { rateLimitHeaders } from './rate-limits.ts'
import { messagesSizes } from './sizes.ts'
import type { Dialect } from '../dialect.ts'

export const messages: Dialect<typeof MessagesRequest, MessagesContext> = {
  schema: MessagesRequest,
  sizes: messagesSizes,
  input: messagesInput,
  fit: fitRequest,
  empty: emptyMessage,
  encode: encodeMessage,
  complete: toMessage,
  errors: messagesErrors,
  headers: ({ id, record }) => ({ 'request-id': id, ...rateLimitHeaders(record.limitHeaders) }),
  startsWithUsage: true,
  eitherKey: true
}
