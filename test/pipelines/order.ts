/**
 * Compiled but never run: the compiler refuses stages in a wrong order. Each marked line must be an error, or
 * the compiler complains about the mark.
 */

import { pipeline } from '../../pipelines/pipeline.ts'
import { estimateChat } from '../../lib/limits/estimate-chat.ts'
import { dryRun } from '../../lib/stages/dry-run.ts'
import { limits } from '../../lib/stages/limits.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { jsonReply } from '../../lib/replies/reply-with.ts'
import { checkChatRules } from '../../lib/chat/rules.ts'
import { chatInput } from '../../lib/dialects/chat-completions/input.ts'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import { streamOrJson } from '../../lib/replies/answer-reply.ts'
import { map } from '../../lib/pipeline/stage.ts'
import { auth } from '../../lib/stages/auth.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { providerCall } from '../../lib/stages/provider-call.ts'
import { routeModel } from '../../lib/stages/route-model.ts'
import { sseEncode } from '../../lib/stages/sse-encode.ts'
import { validate } from '../../lib/stages/validate.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Services } from '../../lib/services.ts'

export function orders (services: Services): unknown[] {
  const ask = providerCall(services, 'chat')
  const input = map(chatInput)
  const rules = map(checkChatRules)
  const route = routeModel(services)
  const admit = limits(services, { estimate: estimateChat })
  const reply = streamOrJson({ streamed: sseEncode(), complete: toCompletion })
  return [
    pipeline(
      auth(services),
      validate(ChatRequest),
      input,
      rules,
      route,
      admit,
      ask,
      recordUsage(),
      normalise(),
      reply
    ),
    // @ts-expect-error a body is not looked at before the key
    pipeline<Call>(validate(ChatRequest), auth(services), input, route, ask, reply),
    // @ts-expect-error a model is chosen for a request, not for a call
    pipeline(auth(services), route, ask, reply),
    // @ts-expect-error the input is made before a provider sees it
    pipeline(auth(services), validate(ChatRequest), ask, reply),
    // @ts-expect-error a provider is called once there is a route
    pipeline(auth(services), validate(ChatRequest), input, ask, reply),
    // @ts-expect-error limits are checked once there is a route
    pipeline(auth(services), validate(ChatRequest), input, admit, route, ask, reply),
    // @ts-expect-error usage is in the events of a provider
    pipeline(auth(services), validate(ChatRequest), input, route, recordUsage(), ask, reply),
    // @ts-expect-error events come from a provider
    pipeline(auth(services), validate(ChatRequest), input, route, normalise(), reply),
    // @ts-expect-error a dry run is one of an endpoint that routes
    pipeline(auth(services), dryRun(services, 'chat'), jsonReply()),
    // @ts-expect-error a capability is served by its own adapter
    pipeline(auth(services), validate(ChatRequest), input, route, providerCall(services, 'ocr'), reply),
    // @ts-expect-error a reply is made of events
    pipeline(auth(services), reply)
  ]
}
