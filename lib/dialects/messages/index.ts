/** Anthropic's Messages API as a caller dialect. */

import { MessagesRequest } from '../../../schemas/messages-request.ts'
import { messageReply } from './complete.ts'
import { directRequest } from './direct.ts'
import { emptyMessage } from './empty-message.ts'
import { encodeMessage } from './encode.ts'
import { fitRequest } from './fit.ts'
import { messagesInput, type MessagesContext } from './input.ts'
import { messagesUses } from './provider-uses.ts'
import { rateLimitHeaders } from './rate-limits.ts'
import { replaceMessageTexts } from './replace-texts.ts'
import { messagesSizes } from './sizes.ts'
import { messagesAnswerTexts, messagesFrameTexts, messagesTextOf } from './text-places.ts'
import type { Dialect } from '../dialect.ts'

export const messages: Dialect<typeof MessagesRequest, MessagesContext> = {
  schema: MessagesRequest,
  sizes: messagesSizes,
  input: messagesInput,
  fit: fitRequest,
  empty: emptyMessage,
  direct: {
    dialect: 'messages',
    request: directRequest,
    uses: messagesUses,
    texts: { answer: messagesAnswerTexts, frames: messagesFrameTexts, textOf: messagesTextOf }
  },
  replaceTexts: replaceMessageTexts,
  encode: encodeMessage,
  complete: messageReply,
  headers: ({ id, record }) =>
    Object.assign({
      'request-id': id
    }, rateLimitHeaders(record.limits.headers), record.routing.upstreamLimits),
  startsWithUsage: true
}
