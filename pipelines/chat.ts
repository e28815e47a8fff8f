/** Serves POST /v1/chat/completions: messages in, a completion out, complete or streamed. */

import { fitRoutes } from '../lib/stages/fit-routes.ts'
import { chatCompletions } from '../lib/dialects/chat-completions/index.ts'
import { validate } from '../lib/stages/validate.ts'
import { ChatRequest } from '../schemas/chat.ts'
import { ChatCompletion, ChatCompletionChunk } from '../schemas/chat-completion.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { conversation, resumedConversation, type RequestStageOptions } from './conversation.ts'
import { providerErrors, type Docs } from './docs.ts'
import type { ChatInput } from '../lib/chat/input.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import type { Handler } from './pipeline.ts'

export const chatDocs: Docs = {
  operationId: 'chat',
  group: 'Chat',
  summary: 'Create a chat completion.',
  request: { schema: ChatRequest },
  answers: [
    { description: 'The answer.', schema: ChatCompletion },
    {
      description: 'With `stream`, the answer in chunks.',
      mediaType: 'text/event-stream',
      schema: ChatCompletionChunk
    }
  ],
  errors: ['invalid_value', 'unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

const validChat = validate(ChatRequest)

export function chat (services: Services, options: RequestStageOptions = {}): Handler<Call> {
  return conversation(services, chatCompletions, validChat, options)
}

/** Answers a deferred call, starting where it left `chat`. */
export function deferredChat (services: Services): Handler<RoutedCall<ChatInput>> {
  return resumedConversation(services, chatCompletions, fitRoutes(services, chatCompletions))
}
