/**
 * GET /openapi.json: what the API looks like, for people and for generators of clients.
 *
 * An endpoint that is added is described here; the document does the rest.
 */

import type { Call } from '../lib/core/call.ts'
import { openApiDocument, type AnswerDoc, type EndpointDoc } from '../lib/wire/openapi.ts'
import type { Reply } from '../lib/core/reply.ts'
import { ChatRequest, ModelWithSettings } from '../schemas/chat.ts'
import {
  AnswerMessage, ChatCompletion, ChatCompletionChunk, ChoiceLogprobs, CompletionUsage, DeferredCancelled,
  DeferredPending, ToolServerFailure, ToolServerResult
} from '../schemas/completion.ts'
import { EmbeddingInput, EmbeddingList, EmbeddingsRequest } from '../schemas/embeddings.ts'
import { Health, ProbeStatus } from '../schemas/health.ts'
import {
  ImageAnswer, ImageEditRequest, ImageRequest, ImageStreamEvent, ImageVariationRequest
} from '../schemas/images.ts'
import {
  AssistantMessage, FunctionMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
} from '../schemas/messages.ts'
import { AnyObject } from '../schemas/nullable.ts'
import { Model, ModelList } from '../schemas/models.ts'
import { OcrAnswer, OcrRequest } from '../schemas/ocr.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { SpeechRequest, SpeechStreamEvent } from '../schemas/speech.ts'
import {
  TranscriptionRequest, Transcription, TranscriptionAnswer, TranscriptionStreamEvent, TranscriptSegment, TranscriptWord,
  VerboseTranscription
} from '../schemas/transcription.ts'
import { Translation, TranslationAnswer, TranslationRequest, VerboseTranslation } from '../schemas/translation.ts'
import { CustomTool, FunctionTool, ToolServerSpec } from '../schemas/tools.ts'

/** Schemas that deserve a name of their own in the document. */
const named = {
  ChatRequest, ModelWithSettings,
  Message, SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage, ToolCall,
  FunctionTool, CustomTool, ToolServerSpec,
  ChatCompletion, ChatCompletionChunk, AnswerMessage, ChoiceLogprobs, CompletionUsage,
  ToolServerFailure, ToolServerResult, DeferredPending,
  ImageRequest, ImageEditRequest, ImageVariationRequest, ImageAnswer, ImageStreamEvent, OcrRequest, OcrAnswer,
  EmbeddingsRequest, EmbeddingInput, EmbeddingList,
  SpeechRequest, SpeechStreamEvent,
  TranscriptionRequest, Transcription, VerboseTranscription, TranscriptSegment, TranscriptWord, TranscriptionStreamEvent,
  TranslationRequest, Translation, VerboseTranslation,
  Model, ModelList, Health, ProbeStatus, RouteDecision
}

const fromProvider = [
  'model_not_found', 'unknown_provider', 'context_length_exceeded', 'content_policy_violation',
  'upstream_invalid_request', 'insufficient_quota', 'invalid_provider_key', 'upstream_error', 'upstream_unreachable',
  'upstream_invalid_response', 'upstream_stream_interrupted', 'upstream_auth_failed', 'upstream_quota_exhausted',
  'upstream_overloaded', 'upstream_timeout', 'timeout'
] as const

const imageAnswers: readonly AnswerDoc[] = [
  { description: 'The images.', schema: ImageAnswer },
  { description: 'With `stream`, images while they are made.', mediaType: 'text/event-stream', schema: ImageStreamEvent }
]
const texts = [
  { description: 'With the format `text` or `srt`.', mediaType: 'text/plain' },
  { description: 'With the format `vtt`.', mediaType: 'text/vtt' }
]
const fromRecording = ['invalid_value', 'unsupported_parameter', 'unsupported_format', ...fromProvider] as const

export const endpointDocs: readonly EndpointDoc[] = [
  {
    name: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    group: 'Chat',
    summary: 'Ask a model for the next message of a conversation.',
    request: { schema: ChatRequest },
    answers: [
      { description: 'The answer.', schema: ChatCompletion },
      {
        description: 'With `stream`, the answer in chunks.',
        mediaType: 'text/event-stream',
        schema: ChatCompletionChunk
      }
    ],
    errors: ['invalid_value', 'unsupported_parameter', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'deferred-completion',
    method: 'GET',
    path: '/v1/chat/deferred-completion/:request_id',
    group: 'Chat',
    summary: 'Fetch the answer to a chat call that was deferred.',
    answers: [
      { description: 'The answer.', schema: ChatCompletion },
      { status: 202, description: 'Not there yet.', schema: DeferredPending }
    ],
    errors: ['deferred_completion_not_found', 'deferred_result_lost', ...fromProvider],
    routed: true
  },
  {
    name: 'cancel-deferred-completion',
    method: 'DELETE',
    path: '/v1/chat/deferred-completion/:request_id',
    group: 'Chat',
    summary: 'Cancel a deferred call that this gateway runs itself and that is not done.',
    answers: [{ description: 'It will not be answered.', schema: DeferredCancelled }],
    errors: ['deferred_completion_not_found'],
    routed: true
  },
  {
    name: 'images',
    method: 'POST',
    path: '/v1/images/generations',
    group: 'Images',
    summary: 'Make images out of a prompt.',
    request: { schema: ImageRequest },
    answers: imageAnswers,
    errors: ['invalid_value', 'unsupported_parameter', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'image-edits',
    method: 'POST',
    path: '/v1/images/edits',
    group: 'Images',
    summary: 'Change images as a prompt says.',
    request: { schema: ImageEditRequest, mediaType: 'multipart/form-data' },
    answers: imageAnswers,
    errors: ['invalid_value', 'unsupported_parameter', 'unsupported_format', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'image-variations',
    method: 'POST',
    path: '/v1/images/variations',
    group: 'Images',
    summary: 'Make other images like one.',
    request: { schema: ImageVariationRequest, mediaType: 'multipart/form-data' },
    answers: [{ description: 'The images.', schema: ImageAnswer }],
    errors: ['invalid_value', 'unsupported_parameter', 'unsupported_format', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'ocr',
    method: 'POST',
    path: '/v1/ocr',
    group: 'Documents',
    summary: 'Read a PDF or an image into Markdown, page by page.',
    request: { schema: OcrRequest },
    answers: [{ description: 'The pages.', schema: OcrAnswer }],
    errors: ['invalid_value', 'unsupported_parameter', 'unsupported_format', 'invalid_document', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'embeddings',
    method: 'POST',
    path: '/v1/embeddings',
    group: 'Embeddings',
    summary: 'Turn texts into vectors, for search and comparison.',
    request: { schema: EmbeddingsRequest },
    answers: [{ description: 'A vector for each input.', schema: EmbeddingList }],
    errors: ['invalid_value', 'unsupported_parameter', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'speech',
    method: 'POST',
    path: '/v1/audio/speech',
    group: 'Audio',
    summary: 'Say a text.',
    request: { schema: SpeechRequest },
    answers: [
      { description: 'The sound, as it is made.', mediaType: 'audio/*' },
      { description: 'With `stream_format` sse, pieces of it.', mediaType: 'text/event-stream', schema: SpeechStreamEvent }
    ],
    errors: ['unsupported_parameter', ...fromProvider],
    dryRun: RouteDecision
  },
  {
    name: 'transcriptions',
    method: 'POST',
    path: '/v1/audio/transcriptions',
    group: 'Audio',
    summary: 'Write down what is said in a recording.',
    request: { schema: TranscriptionRequest, mediaType: 'multipart/form-data' },
    answers: [
      { description: 'The text, with more about it when the format is `verbose_json`.', schema: TranscriptionAnswer },
      ...texts,
      { description: 'With `stream`, the text as it is understood.', mediaType: 'text/event-stream', schema: TranscriptionStreamEvent }
    ],
    errors: fromRecording,
    dryRun: RouteDecision
  },
  {
    name: 'translations',
    method: 'POST',
    path: '/v1/audio/translations',
    group: 'Audio',
    summary: 'Write down in English what is said in a recording.',
    request: { schema: TranslationRequest, mediaType: 'multipart/form-data' },
    answers: [
      { description: 'The text, with more about it when the format is `verbose_json`.', schema: TranslationAnswer },
      ...texts
    ],
    errors: fromRecording,
    dryRun: RouteDecision
  },
  {
    name: 'models',
    method: 'GET',
    path: '/v1/models',
    group: 'Models',
    summary: 'List the models that can be called.',
    answers: [{ description: 'All of them.', schema: ModelList }]
  },
  {
    name: 'model',
    method: 'GET',
    path: '/v1/models/*model',
    group: 'Models',
    summary: 'Describe one model. Its id may hold slashes, as they are or encoded.',
    answers: [{ description: 'The model.', schema: Model }],
    errors: ['model_not_found']
  },
  {
    name: 'health',
    method: 'GET',
    path: '/health',
    group: 'Service',
    summary: 'Report the state of the service.',
    answers: [{ description: 'The service works, with what is degraded.', schema: Health }]
  },
  {
    name: 'livez',
    method: 'GET',
    path: '/livez',
    group: 'Service',
    summary: 'Liveness probe: the process responds.',
    answers: [{ description: 'It does.', schema: ProbeStatus }],
    open: true
  },
  {
    name: 'readyz',
    method: 'GET',
    path: '/readyz',
    group: 'Service',
    summary: 'Readiness probe: the service accepts calls.',
    answers: [
      { description: 'It does.', schema: ProbeStatus },
      { status: 503, description: 'It is starting or shutting down.', schema: ProbeStatus }
    ],
    open: true
  },
  {
    name: 'openapi',
    method: 'GET',
    path: '/openapi.json',
    group: 'Service',
    summary: 'This document.',
    answers: [{ description: 'The document.', schema: AnyObject }],
    open: true
  }
]

/** Answers with the document, which is printed once, at start-up. */
export function openApi (
  version: string, docs: readonly EndpointDoc[] = endpointDocs
): (call: Call) => Promise<Reply> {
  let body: string | undefined
  return async () => {
    body ??= JSON.stringify(openApiDocument(docs, { version, named }))
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
  }
}
