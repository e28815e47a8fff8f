/** Serves POST /v1/completions: a text in, its continuation out, complete or streamed. */

import { asTextAnswer } from '../lib/chat/as-text-answer.ts'
import { chatAttributes, chatSettings } from '../lib/chat/model-settings.ts'
import { chatUses } from '../lib/chat/provider-uses.ts'
import { chain } from '../lib/pipeline/chain.ts'
import { map, pass, type Stage } from '../lib/pipeline/stage.ts'
import { textCompletions } from '../lib/dialects/text-completions/index.ts'
import { textInput } from '../lib/dialects/text-completions/input.ts'
import { replaceCompletionTexts } from '../lib/dialects/text-completions/replace-texts.ts'
import { estimateText } from '../lib/limits/estimate-chat.ts'
import { answerReply } from '../lib/replies/answer-reply.ts'
import { chatRequirements } from '../lib/routing/requirements.ts'
import { auth } from '../lib/stages/auth.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { defaultTextLimit } from '../lib/stages/default-text-limit.ts'
import { callOptions } from '../lib/stages/call-options.ts'
import { cachedAnswer } from '../lib/stages/cached-answer.ts'
import { capAnswer } from '../lib/stages/cap-answer.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { inspectAnswer } from '../lib/stages/inspect-answer.ts'
import { inspectRequest } from '../lib/stages/inspect-request.ts'
import { limits } from '../lib/stages/limits.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { TextCompletion, TextCompletionRequest } from '../schemas/text-completions.ts'
import { providerErrors, type Docs } from './docs.ts'
import type { TextInput } from '../lib/chat/input.ts'
import type { Call, ValidCall } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import { pipeline, type Handler } from './pipeline.ts'

export const completionsDocs: Docs = {
  operationId: 'completions',
  group: 'Completions',
  summary: 'Complete a text, or fill in its middle.',
  request: { schema: TextCompletionRequest },
  answers: [
    { description: 'The completions.', schema: TextCompletion },
    {
      description: 'With `stream`, the completions in chunks.',
      mediaType: 'text/event-stream',
      schema: TextCompletion
    }
  ],
  errors: ['invalid_value', 'unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

export interface CompletionsOptions {
  /**
   * A stage of your own, such as a text filter, as in `RequestStageOptions`. It sees the prompt as one
   * message, and in `text`, with the suffix; a provider gets one or the other. Default: none.
   */
  readonly afterRules?: Stage<ValidCall<TextInput>>
}

const validCompletion = validate(TextCompletionRequest)

export function completions (
  services: Services,
  { afterRules = pass }: CompletionsOptions = {}
): Handler<Call> {
  const { textGuards, answerCache } = services
  const inOneTurn = chain(
    capAnswer<TextInput>(services, { estimate: estimateText }),
    providerCall(services, 'textCompletion'),
    recordUsage()
  )
  return pipeline(
    auth(services),
    validCompletion,
    namedGuards(services),
    callOptions(services, TextCompletionRequest),
    map(textInput),
    afterRules,
    routeModel(services, {
      settings: chatSettings,
      attributes: chatAttributes,
      requirements: chatRequirements
    }),
    defaultTextLimit(),
    dryRun(services, 'textCompletion', { estimate: estimateText }),
    checkProviderUses(services, chatUses),
    limits<TextInput>(services, { estimate: estimateText }),
    inspectRequest<TextInput>(textGuards, {
      replaceTexts: replaceCompletionTexts,
      asTextAnswer,
      awaitsVerdict: () => true
    }),
    inspectAnswer(textGuards, undefined, cachedAnswer(answerCache, inOneTurn)),
    normalise(),
    answerReply(textCompletions)
  )
}
