/** Serves POST /v1/chat/completions: messages in, a completion out, in one piece or as it is written. */

import { chatInput, type ChatInput } from '../lib/chat/input.ts'
import { chatAttributes, chatSettings } from '../lib/chat/model-settings.ts'
import { chatSizes, checkChatRules } from '../lib/chat/rules.ts'
import { toCompletion } from '../lib/dialects/chat-completions/complete.ts'
import { chain, map, type Stage } from '../lib/core/stage.ts'
import { estimateChat } from '../lib/limits/estimate.ts'
import { checkToolScope } from '../lib/mcp/tool-scope.ts'
import { streamOrJson } from '../lib/replies/stream-or-json.ts'
import { chatRequirements } from '../lib/routing/requirements.ts'
import { auth } from '../lib/stages/auth.ts'
import { capAnswer } from '../lib/stages/cap-answer.ts'
import { checkAddresses } from '../lib/stages/check-addresses.ts'
import { defer } from '../lib/stages/defer.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { sseEncode } from '../lib/stages/sse-encode.ts'
import { toolExecute } from '../lib/stages/tool-execute.ts'
import { validate } from '../lib/stages/validate.ts'
import { ChatRequest } from '../schemas/chat.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { Batch } from '../lib/core/batch.ts'
import type { Call, RoutedCall, ValidCall } from '../lib/core/call.ts'
import type { ChatEvent } from '../lib/core/events.ts'
import type { Services } from '../lib/services.ts'
import { fromProvider, type Docs } from './docs.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { ChatCompletion, ChatCompletionChunk } from '../schemas/completion.ts'

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
  errors: ['invalid_value', 'unsupported_parameter', ...fromProvider],
  dryRun: RouteDecision
}

export interface ChatOptions {
  /**
   * A stage of your own, such as a guard: the request is one list of messages there, its rules are checked, and no
   * model is chosen yet. Deferred calls pass it as well, before they are deferred. Default: none.
   */
  readonly afterRules?: Stage<ValidCall<ChatInput>>
}

export function chat (services: Services, { afterRules = map(call => call) }: ChatOptions = {}): Handler<Call> {
  return pipeline(
    auth(services),
    validate(ChatRequest),
    map(chatSizes(services.settings.limits)),
    map(chatInput),
    map(checkChatRules),
    map(checkToolScope),
    afterRules,
    routeModel(services, { settings: chatSettings, attributes: chatAttributes, requirements: chatRequirements }),
    dryRun(services, 'chat', { estimate: estimateChat }),
    limits(services, { estimate: estimateChat }),
    checkAddresses(services),
    capAnswer(services),
    defer(services),
    answer(services),
    streamOrJson({ streamed: sseEncode(), complete: toCompletion })
  )
}

/** Answers a call that was deferred, from where it left `chat`; it waits for limits instead of being refused. */
export function deferredChat (services: Services): Handler<RoutedCall<ChatInput>> {
  return pipeline(
    limits(services, { estimate: estimateChat, waitForCapacity: true }),
    answer(services),
    streamOrJson({ streamed: sseEncode(), complete: toCompletion })
  )
}

/** Answers a call with models and tools, turn by turn, within what its key may still spend. */
function answer (services: Services): Stage<RoutedCall<ChatInput>, Batch<ChatInput, ChatEvent>> {
  const turn = chain(capAnswer(services), chain(providerCall(services, 'chat'), recordUsage()))
  return chain(toolExecute(services, turn), normalise())
}
