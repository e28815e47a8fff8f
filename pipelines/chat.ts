/** POST /v1/chat/completions: messages in, a completion out, in one piece or as it is written. */

import { pipe } from 'it-pipe'
import { checkChatRules } from '../lib/chat/rules.ts'
import { chatAttributes, chatSettings } from '../lib/chat/model-settings.ts'
import { resolvePrompt } from '../lib/chat/input.ts'
import { wholeCompletion } from '../lib/chat/complete.ts'
import { estimateChat } from '../lib/limits/estimate.ts'
import { onCall } from '../lib/replies/on-call.ts'
import { streamOrWhole } from '../lib/replies/stream-or-json.ts'
import { once, perCall } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { deferCall } from '../lib/stages/defer.ts'
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
import type { PromptedChat } from '../lib/chat/input.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import type { Sink } from '../lib/core/stage.ts'

export function chat (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers } = services
  const stages = [
    auth(keys),
    validate(ChatRequest),
    perCall(resolvePrompt),
    perCall(checkChatRules),
    routeModel<PromptedChat>(models, providers, { settings: chatSettings, attributes: chatAttributes }),
    dryRun<RoutedCall<PromptedChat>>(services, provider => provider.chat),
    limits<RoutedCall<PromptedChat>>(services, estimateChat)
  ] as const
  const reply = onCall(deferCall(services, answerChat(services)))
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

/** From a routed call to its answer: also how a deferred call is answered, later. */
export function answerChat (services: Services): Sink<RoutedCall<PromptedChat>, Reply> {
  const { providers, drains, health, tools, settings } = services
  const ask = providerCall(providers, provider => provider.chat, settings.limits, drains, health)
  const reply = streamOrWhole({ streamed: sseEncode(), whole: wholeCompletion })
  const stages = [
    toolExecute(tools, ask, settings.tools, seesImages(services)),
    normalise<PromptedChat>()
  ] as const
  return async source => await pipe(source, ...stages, reply)
}

/** Of a model that nobody knows to see, nothing is hoped: a picture could fail the whole call. */
function seesImages ({ models, providers }: Services): SeesImages {
  return ({ modelId, providerId }) => providers.get(providerId)?.quirks.toolImages !== false &&
    models.find(modelId)?.capabilities['vision'] === true
}
