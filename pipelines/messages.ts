/** Serves Anthropic's Messages API with any provider: messages, and token counts. */

import { toJsonReply } from '../lib/core/reply.ts'
import { messages as dialect } from '../lib/dialects/messages/index.ts'
import { countTokensInput, type MessagesContext } from '../lib/dialects/messages/input.ts'
import { replaceCountTexts } from '../lib/dialects/messages/replace-texts.ts'
import { messagesSizes } from '../lib/dialects/messages/sizes.ts'
import { validate } from '../lib/stages/validate.ts'
import {
  MessagesAnswer,
  MessagesErrorBody,
  MessagesStreamEvent,
  TokenCount
} from '../schemas/messages-answer.ts'
import { CountTokensRequest, MessagesRequest } from '../schemas/messages-request.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { conversation, promptCount, type RequestStageOptions } from './conversation.ts'
import { providerErrors, type Docs } from './docs.ts'
import type { Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import type { Handler } from './pipeline.ts'

/** Response headers of this API. */
const headers: Docs['headers'] = {
  'request-id': 'The id of the call, as `x-request-id`.',
  ...Object.fromEntries(
    ['requests', 'tokens'].flatMap(unit => [
      [`anthropic-ratelimit-${unit}-limit`, `Limit of ${unit} per minute for this key.`],
      [`anthropic-ratelimit-${unit}-remaining`, 'Remaining amount.'],
      [`anthropic-ratelimit-${unit}-reset`, 'Time at which all of it is available again (RFC 3339).']
    ])
  )
}

export const messagesDocs: Docs = {
  operationId: 'messages',
  group: 'Messages',
  summary: "Create a message, in the format of Anthropic's API.",
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
  errors: ['invalid_value', 'unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

const validMessages = validate(MessagesRequest)

export function messages (services: Services, options: RequestStageOptions = {}): Handler<Call> {
  return conversation(services, dialect, validMessages, options)
}

export const countTokensDocs: Docs = {
  operationId: 'countTokens',
  group: 'Messages',
  summary: "Count the tokens of a prompt, in the format of Anthropic's API.",
  request: { schema: CountTokensRequest },
  answers: [
    {
      description: 'The count: that of the provider, or an estimate on the high side.',
      schema: TokenCount
    }
  ],
  errorBody: MessagesErrorBody,
  headers: {
    'request-id': 'The id of the call, as `x-request-id`.',
    'x-headgate-token-count': '`provider`, or `estimate` where the provider does not count.'
  },
  errors: ['invalid_value', 'unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

const validCount = validate(CountTokensRequest)

const countDialect = {
  ...dialect, sizes: messagesSizes, input: countTokensInput, replaceTexts: replaceCountTexts
}

/** Serves POST /v1/messages/count_tokens. */
export function countTokens (services: Services, options: RequestStageOptions = {}): Handler<Call> {
  return promptCount<typeof CountTokensRequest, MessagesContext>(
    services, countDialect, validCount,
    ({ id, tokens }) => {
      const reply = toJsonReply({ input_tokens: tokens } satisfies TokenCount)
      return { ...reply, headers: { ...reply.headers, 'request-id': id } }
    },
    { ...options, passesErrors: true }
  )
}
