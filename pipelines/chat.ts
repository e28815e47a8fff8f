/** POST /v1/chat/completions: messages in, a completion out, in one piece or as it is written. */

import { pipe } from 'it-pipe'
import { checkChatRules } from '../lib/chat/rules.ts'
import { chatAttributes, chatSettings } from '../lib/chat/model-settings.ts'
import { chatInput } from '../lib/chat/input.ts'
import { toCompletion } from '../lib/chat/complete.ts'
import { estimateChat } from '../lib/limits/estimate.ts'
import { onCall } from '../lib/replies/on-call.ts'
import { streamOrJson } from '../lib/replies/stream-or-json.ts'
import { once, map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { defer } from '../lib/stages/defer.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { sseEncode } from '../lib/stages/sse-encode.ts'
import { toolExecute, type SeesImages } from '../lib/stages/tool-execute.ts'
import { validate } from '../lib/stages/validate.ts'
import { ChatRequest } from '../schemas/chat.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { ChatInput } from '../lib/chat/input.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import type { Sink } from '../lib/core/stage.ts'

export function chat (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers } = services
  const stages = [
    auth(keys),
    validate(ChatRequest),
    map(chatInput),
    map(checkChatRules),
    routeModel<ChatInput>(models, providers, { settings: chatSettings, attributes: chatAttributes }),
    dryRun<RoutedCall<ChatInput>>(services, 'chat'),
    limits<RoutedCall<ChatInput>>(services, estimateChat)
  ] as const
  const reply = onCall(defer(services, answerChat(services)))
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

/** From a routed call to its answer: also how a deferred call is answered, later. */
export function answerChat (services: Services): Sink<RoutedCall<ChatInput>, Reply> {
  const { tools, settings } = services
  const ask = providerCall(services, 'chat')
  const reply = streamOrJson({ streamed: sseEncode(), whole: toCompletion })
  const stages = [
    toolExecute(tools, ask, settings.tools, seesImages(services)),
    normalise<ChatInput>()
  ] as const
  return async source => await pipe(source, ...stages, reply)
}

/** Of a model that nobody knows to see, nothing is hoped: a picture could fail the whole call. */
function seesImages ({ models, providers }: Services): SeesImages {
  return ({ modelId, providerId }) => providers.get(providerId)?.quirks.toolImages !== false &&
    models.find(modelId)?.capabilities['vision'] === true
}
