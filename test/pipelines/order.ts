/**
 * Compiled, never run: stages in a wrong order are refused by the compiler. Each marked line must
 * be an error, or the compiler complains about the mark.
 */

import { pipe } from 'it-pipe'
import { checkChatRules } from '../../lib/chat/rules.ts'
import { chatInput, type ChatInput } from '../../lib/chat/input.ts'
import { toCompletion } from '../../lib/chat/complete.ts'
import { streamOrJson } from '../../lib/replies/stream-or-json.ts'
import { once, map } from '../../lib/core/stage.ts'
import { auth } from '../../lib/stages/auth.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { providerCall } from '../../lib/stages/provider-call.ts'
import { routeModel } from '../../lib/stages/route-model.ts'
import { sseEncode } from '../../lib/stages/sse-encode.ts'
import { validate } from '../../lib/stages/validate.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Services } from '../../lib/services.ts'

export function orders (call: Call, services: Services): unknown[] {
  const { keys, models, providers } = services
  const source = once(call)
  const ask = providerCall(services, 'chat')
  const prompt = map(chatInput)
  const rules = map(checkChatRules)
  const route = routeModel<ChatInput>(models, providers)
  const reply = streamOrJson({ streamed: sseEncode(), whole: toCompletion })
  return [
    pipe(source, auth(keys), validate(ChatRequest), prompt, rules, route, ask, normalise<ChatInput>(), reply),
    // @ts-expect-error a body is not looked at before the key
    pipe(source, validate(ChatRequest), auth(keys), prompt, route, ask, reply),
    // @ts-expect-error a model is chosen for a request, not for a call
    pipe(source, auth(keys), route, ask, reply),
    // @ts-expect-error the prompt is resolved before a provider sees it
    pipe(source, auth(keys), validate(ChatRequest), ask, reply),
    // @ts-expect-error a provider is asked once there is a route
    pipe(source, auth(keys), validate(ChatRequest), prompt, ask, reply),
    // @ts-expect-error events come from a provider
    pipe(source, auth(keys), validate(ChatRequest), prompt, route, normalise<ChatInput>(), reply),
    // @ts-expect-error a reply is made of events
    pipe(source, auth(keys), reply)
  ]
}
