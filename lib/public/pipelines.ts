/** `headgate/pipelines`: the pipeline of each endpoint, and the table of all endpoints. */

export { pipeline, type Handler } from '../../pipelines/pipeline.ts'
export { createEndpoints } from '../../pipelines/index.ts'
export { aliasEndpoints } from '../../pipelines/aliases.ts'
export { chat } from '../../pipelines/chat.ts'
export {
  conversation,
  type ConversationOptions,
  type RequestStageOptions
} from '../../pipelines/conversation.ts'
export { chatCompletions } from '../dialects/chat-completions/index.ts'
export type { Dialect } from '../dialects/dialect.ts'
export { completions, type CompletionsOptions } from '../../pipelines/text-completions.ts'
export { cancelDeferred, retrieveDeferred } from '../../pipelines/deferred.ts'
export { embeddings } from '../../pipelines/embeddings.ts'
export { health, livez, readyz, type ProcessState } from '../../pipelines/health.ts'
export { imageEdits, images, imageVariations } from '../../pipelines/images.ts'
export { listModels, retrieveModel } from '../../pipelines/models.ts'
export { countTokens, messages } from '../../pipelines/messages.ts'
export { ocr } from '../../pipelines/ocr.ts'
export { compact, countInputTokens, responses } from '../../pipelines/responses.ts'
export {
  cancelResponse,
  deleteResponse,
  listInputItems,
  retrieveResponse
} from '../../pipelines/stored-responses.ts'
export { speech } from '../../pipelines/speech.ts'
export { transcription, translation } from '../../pipelines/recordings.ts'
export type { Call } from '../core/call.ts'
export type { Endpoint } from '../core/endpoint.ts'
export type { Reply } from '../core/reply.ts'
export type { Services } from '../services.ts'
