/** `headgate/stages`: the stages of pipelines, roughly in the order in which a call meets them. */

export { pipe } from 'it-pipe'
export { pipeline, type Handler } from '../../pipelines/pipeline.ts'
export { chain } from '../pipeline/chain.ts'
export { once } from '../pipeline/sources.ts'
export { flatMap, map, transform } from '../pipeline/stage.ts'
export { EarlyReply } from '../core/reply.ts'
export { extend, refine } from '../core/call.ts'
export { standardSignal } from '../async/cancellation.ts'

export { auth } from '../stages/auth.ts'
export { validate } from '../stages/validate.ts'
export { validateForm } from '../stages/validate-form.ts'
export { namedGuards } from '../stages/named-guards.ts'
export { callOptions } from '../stages/call-options.ts'
export { chatInput, chatSizes } from '../dialects/chat-completions/input.ts'
export { checkChatRules } from '../chat/rules.ts'
export { checkToolScope } from '../mcp/tool-scope.ts'
export { chatAttributes, chatSettings } from '../chat/model-settings.ts'
export { routeModel } from '../stages/route-model.ts'
export { boundText } from '../stages/bound-text.ts'
export { dryRun } from '../stages/dry-run.ts'
export { checkProviderUses } from '../stages/check-provider-uses.ts'
export { answerEmpty } from '../stages/answer-empty.ts'
export { countOnly } from '../stages/count-only.ts'
export { limits } from '../stages/limits.ts'
export { estimateOf } from '../limits/estimate.ts'
export { estimateChat } from '../limits/estimate-chat.ts'
export { embeddingsUsage, estimateEmbeddings } from '../limits/estimate-units.ts'
export { checkAddresses } from '../stages/check-addresses.ts'
export { joinPlaceholders } from '../stages/join-placeholders.ts'
export { inspectRequest } from '../stages/inspect-request.ts'
export { formTextsAt, textsAt } from '../stages/texts-at.ts'
export { fitRoutes } from '../stages/fit-routes.ts'
export { defer } from '../stages/defer.ts'
export { mirror } from '../stages/mirror.ts'
export { answerInBackground } from '../stages/responses/answer-in-background.ts'
export { afterVerdict } from '../stages/after-verdict.ts'
export { inspectAnswer } from '../stages/inspect-answer.ts'
export { inspectResults } from '../stages/inspect-results.ts'
export { asPlainTranscript, inspectTranscript } from '../stages/audio/inspect-transcript.ts'
export { cachedAnswer } from '../stages/cached-answer.ts'
export { capAnswer } from '../stages/cap-answer.ts'
export { countPrompt } from '../stages/count-prompt.ts'
export { deadline } from '../stages/deadline.ts'
export { providerCall } from '../stages/provider-call.ts'
export { toolExecute } from '../stages/tool-execute.ts'
export { normalise } from '../stages/normalise.ts'
export { recordUsage } from '../stages/record-usage.ts'
export { sseEncode } from '../stages/sse-encode.ts'

export { embeddingsInput } from '../embeddings/input.ts'
export { embeddingLimits } from '../stages/embeddings/embedding-limits.ts'
export { defaultImageModel } from '../stages/images/default-image-model.ts'
export { imageRules } from '../stages/images/image-rules.ts'
export { imageFrames } from '../stages/images/image-frames.ts'
export { fetchDeferred } from '../stages/deferred/fetch-deferred.ts'
export { openDeferred } from '../stages/deferred/open-deferred.ts'
export { storedReply } from '../deferred/stored-reply.ts'
export { retryAsImage } from '../stages/ocr/retry-as-image.ts'
export { speechFrames } from '../stages/audio/speech-frames.ts'
export { transcriptFrames } from '../stages/audio/transcript-frames.ts'

export { toCompletion } from '../dialects/chat-completions/complete.ts'
export { answerReply } from '../replies/answer-reply.ts'
export { bytesReply } from '../replies/bytes.ts'
export { embeddingsReply } from '../replies/embeddings-reply.ts'
export { eventStream } from '../replies/answer-reply.ts'
export { jsonReply, replyWith } from '../replies/reply-with.ts'
export { streamOrJson } from '../replies/answer-reply.ts'
export { toAnswerReply, toLargeReply } from '../replies/answer-reply.ts'

export { GatewayError, ValidationError } from '../core/errors.ts'
export type { PassThroughStage, Sink, Stage } from '../pipeline/stage.ts'
export type { Transformer } from '../pipeline/fused-stages.ts'
export type { GenericStage, StageDoesNotFit, StageTypes } from '../pipeline/stage-list.ts'
export type { AuthedCall, Batch, Call, CallSignal, RoutedCall, ValidCall } from '../core/call.ts'
export type {
  ChatEvent, EmbeddingsEvent, FinishReason, ImageEvent, ResultEvent, SpeechEvent, TranscriptEvent
} from '../core/events.ts'
export type { Reply } from '../core/reply.ts'
export type { Route } from '../core/route.ts'
export type { Usage } from '../core/usage.ts'
export type {
  FilterLayer,
  JudgeLayer,
  Restoration,
  ReversibleGuards,
  StageLayer,
  TextEdit,
  TextFilter,
  TextLayer,
  TextGuards
} from '../guards/text-filter.ts'
export type {
  Judge, JudgeContext, JudgeWindow, ModuleStages, TextAtPoint, CallJudge, Verdict
} from '../guards/text-judge.ts'
export type {
  CreateModuleGuard, LookAtTexts, OwnRefusal, ModuleGuard, ModuleGuardContext, OwnVerdict
} from '../judges/own-module.ts'
export type { GuardPoint } from '../../schemas/config/guards.ts'
export type { ChatInput, TextInput } from '../chat/input.ts'
export type { Services } from '../services.ts'
