/**
 * `headgate/schemas`: the schemas of the wire and of the configuration, each a TypeBox schema with a type of
 * the same name.
 */

export { ChatRequest } from '../../schemas/chat.ts'
export { ChatCompletion, ChatCompletionChunk, CompletionUsage } from '../../schemas/chat-completion.ts'
export { Config } from '../../schemas/config.ts'
export { EmbeddingList, EmbeddingsRequest } from '../../schemas/embeddings.ts'
export { ErrorBody, ValidationErrorBody } from '../../schemas/errors.ts'
export { Health } from '../../schemas/health.ts'
export {
  ImageAnswer,
  ImageEditRequest,
  ImageRequest,
  ImageStreamEvent,
  ImageVariationRequest
} from '../../schemas/images.ts'
export { Message, ToolCall } from '../../schemas/messages.ts'
export { Model, ModelList } from '../../schemas/models.ts'
export { OcrAnswer, OcrRequest } from '../../schemas/ocr.ts'
export { RouteDecision } from '../../schemas/route-decision.ts'
export { SpeechRequest, SpeechStreamEvent } from '../../schemas/speech.ts'
export { Tool, ToolChoice } from '../../schemas/tools.ts'
export {
  TranscriptionAnswer,
  TranscriptionRequest,
  TranscriptionStreamEvent
} from '../../schemas/transcription.ts'
export { TranslationAnswer, TranslationRequest } from '../../schemas/translation.ts'
