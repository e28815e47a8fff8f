/** POST /v1/chat/completions: messages in, a completion out, in one piece or as it is written. */

import { pipe } from 'it-pipe'
import { checkChatRules } from '../lib/chat/rules.ts'
import { resolvePrompt } from '../lib/chat/prompt.ts'
import { wholeCompletion } from '../lib/chat/whole.ts'
import { streamOrWhole } from '../lib/replies/stream-or-whole.ts'
import { once, perCall } from '../lib/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { sseEncode } from '../lib/stages/sse-encode.ts'
import { toolExecute } from '../lib/stages/tool-execute.ts'
import { validate } from '../lib/stages/validate.ts'
import { ChatRequest } from '../schemas/chat.ts'
import type { Call } from '../lib/call.ts'
import type { PromptedChat } from '../lib/chat/prompt.ts'
import type { Reply } from '../lib/reply.ts'
import type { Services } from '../lib/services.ts'

export function chat ({ keys, models, providers, drains, tools, settings }: Services): (call: Call) => Promise<Reply> {
  const ask = providerCall(providers, provider => provider.chat, settings.limits, drains)
  const stages = [
    auth(keys),
    validate(ChatRequest),
    perCall(resolvePrompt),
    perCall(checkChatRules),
    routeModel<PromptedChat>(models, providers),
    toolExecute(tools, ask, settings.tools),
    normalise<PromptedChat>()
  ] as const
  const reply = streamOrWhole({ streamed: sseEncode(), whole: wholeCompletion })
  return async call => await pipe(once(call), ...stages, reply)
}
