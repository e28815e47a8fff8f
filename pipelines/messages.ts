/** Serves POST /v1/messages: Anthropic's Messages API, whichever provider answers. */

import { messages as dialect } from '../lib/dialects/messages/index.ts'
import { MessagesAnswer, MessagesErrorBody, MessagesStreamEvent } from '../schemas/messages-answer.ts'
import { MessagesRequest } from '../schemas/messages-request.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { conversation, type ConversationOptions } from './conversation.ts'
import { fromProvider, type Docs } from './docs.ts'
import type { Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import type { Handler } from './pipeline.ts'

/** Headers of answers of this API. */
const headers: Docs['headers'] = {
  'request-id': 'The id of the call, as `x-request-id`.',
  ...Object.fromEntries(['requests', 'tokens'].flatMap(unit => [
    [`anthropic-ratelimit-${unit}-limit`, `Limit of ${unit} per minute for this key.`],
    [`anthropic-ratelimit-${unit}-remaining`, 'What is left of it.'],
    [`anthropic-ratelimit-${unit}-reset`, 'Time at which all of it is available again (RFC 3339).']
  ]))
}

export const messagesDocs: Docs = {
  operationId: 'messages',
  group: 'Messages',
  summary: 'Create a message, in the words of Anthropic\'s API.',
  request: { schema: MessagesRequest },
  answers: [
    { description: 'The message.', schema: MessagesAnswer },
    {
      description: 'With `stream`, the events of the message.',
      mediaType: 'text/event-stream',
      schema: MessagesStreamEvent
    }
  ],
  errorBody: MessagesErrorBody,
  headers,
  errors: ['invalid_value', 'unsupported_parameter', ...fromProvider],
  dryRun: RouteDecision
}

export function messages (services: Services, options: ConversationOptions = {}): Handler<Call> {
  return conversation(services, dialect, options)
}
