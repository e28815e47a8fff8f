/** `headgate/stages`: what pipelines are made of, in the order in which a call meets it. */

export { pipe } from 'it-pipe'
export { flatMap, map, once } from '../core/stage.ts'

export { auth } from '../stages/auth.ts'
export { validate, validateForm } from '../stages/validate.ts'
export { chatInput } from '../chat/input.ts'
export { checkChatRules } from '../chat/rules.ts'
export { chatAttributes, chatSettings } from '../chat/model-settings.ts'
export { routeModel } from '../stages/route-model.ts'
export { dryRun, dryRunReply } from '../stages/dry-run.ts'
export { limits } from '../stages/limits.ts'
export { estimateChat } from '../limits/estimate.ts'
export { defer } from '../stages/defer.ts'
export { deadline } from '../stages/deadline.ts'
export { providerCall } from '../stages/provider-call.ts'
export { toolExecute } from '../stages/tool-execute.ts'
export { normalise } from '../stages/normalise.ts'
export { recordUsage } from '../stages/record-usage.ts'
export { sseEncode } from '../stages/sse-encode.ts'

export { toCompletion } from '../chat/complete.ts'
export { jsonReply } from '../replies/json.ts'
export { onCall } from '../replies/on-call.ts'
export { streamOrJson } from '../replies/stream-or-json.ts'

export { GatewayError, ValidationError } from '../core/errors.ts'
export type { Sink, Stage } from '../core/stage.ts'
export type { AuthedCall, Call, RoutedCall, ValidCall } from '../core/call.ts'
export type { Batch } from '../core/batch.ts'
export type {
  ChatEvent, EmbeddingsEvent, FinishReason, ImageEvent, ResultEvent, SpeechEvent, TranscriptEvent
} from '../core/events.ts'
export type { Reply } from '../core/reply.ts'
export type { Route } from '../core/route.ts'
export type { Usage } from '../core/usage.ts'
export type { ChatInput } from '../chat/input.ts'
export type { Services } from '../services.ts'
