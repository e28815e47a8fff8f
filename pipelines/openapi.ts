/** Serves GET /openapi.json: describes the API, for people and client generators. */

import type { Call } from '../lib/core/call.ts'
import { openApiDocument } from '../lib/wire/openapi.ts'
import type { EndpointDoc } from '../lib/wire/endpoint-doc.ts'
import type { Docs } from './docs.ts'
import type { Handler } from './pipeline.ts'
import { ChatRequest, ModelWithSettings } from '../schemas/chat.ts'
import {
  AnswerMessage, ChatCompletion, ChatCompletionChunk, ChoiceLogprobs, CompletionUsage,
  DeferredPending, ToolServerFailure, ToolServerResult
} from '../schemas/chat-completion.ts'
import { Health, ProbeStatus } from '../schemas/health.ts'
import {
  AssistantMessage, CallerMessage, CallerToolMessage, FunctionMessage, SystemMessage, ToolCall, UserMessage
} from '../schemas/messages.ts'
import { AnyObject } from '../schemas/nullable.ts'
import { Model, ModelList } from '../schemas/models.ts'
import {
  MessagesAnswer, MessagesErrorBody, MessagesModel, MessagesModelList, MessagesStreamEvent, TokenCount
} from '../schemas/messages-answer.ts'
import { CountTokensRequest, MessagesRequest } from '../schemas/messages-request.ts'
import { InputItem, OutputItem, ResponseUsage } from '../schemas/response-items.ts'
import { ResponseObject, ResponsesRequest, ResponsesTool, ResponseStreamEvent } from '../schemas/responses.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import {
  TranscriptionRequest, Transcription, TranscriptionStreamEvent, TranscriptSegment, TranscriptWord,
  VerboseTranscription
} from '../schemas/transcription.ts'
import { Translation, TranslationRequest, VerboseTranslation } from '../schemas/translation.ts'
import { CustomTool, FunctionTool, ToolServerSpec } from '../schemas/tools.ts'
import { AdminKey, CreatedKey, Key } from '../schemas/admin/keys.ts'
import { AuditEntry } from '../schemas/admin/audit.ts'
import { CallDetail, CallSummary, LiveCalls } from '../schemas/admin/calls.ts'
import { Invitation, Member, Project, User } from '../schemas/admin/organisation.ts'
import { Session } from '../schemas/admin/session.ts'
import { Usage, UsageSeries, UsageTotals } from '../schemas/admin/usage.ts'
import { PartyLimitsConfig } from '../schemas/config/keys.ts'
import { jsonReplyHeaders } from '../lib/core/reply.ts'

/** Named schemas shared by several endpoints; a schema of one endpoint is in its docs. */
const named = {
  ChatRequest,
  ModelWithSettings,
  Message: CallerMessage,
  SystemMessage,
  UserMessage,
  AssistantMessage,
  ToolMessage: CallerToolMessage,
  FunctionMessage,
  ToolCall,
  FunctionTool,
  CustomTool,
  ToolServerSpec,
  ChatCompletion,
  ChatCompletionChunk,
  AnswerMessage,
  ChoiceLogprobs,
  CompletionUsage,
  MessagesRequest,
  MessagesAnswer,
  MessagesStreamEvent,
  MessagesErrorBody,
  MessagesModel,
  MessagesModelList,
  CountTokensRequest,
  TokenCount,
  ToolServerFailure,
  ToolServerResult,
  DeferredPending,
  ResponsesRequest,
  ResponsesTool,
  InputItem,
  ResponseObject,
  OutputItem,
  ResponseUsage,
  ResponseStreamEvent,
  TranscriptionRequest,
  Transcription,
  VerboseTranscription,
  TranscriptSegment,
  TranscriptWord,
  TranscriptionStreamEvent,
  TranslationRequest,
  Translation,
  VerboseTranslation,
  Model,
  ModelList,
  Health,
  ProbeStatus,
  RouteDecision,
  Session,
  User,
  Invitation,
  Member,
  Project,
  Key,
  CreatedKey,
  KeyLimits: PartyLimitsConfig,
  AdminKey,
  AuditEntry,
  Usage,
  UsageTotals,
  UsageSeries,
  CallSummary,
  CallDetail,
  LiveCalls
}

export const openApiDocs: Docs = {
  operationId: 'openapi',
  group: 'Service',
  summary: 'This document.',
  answers: [{ description: 'The document.', schema: AnyObject }],
  open: true
}

/** Serves the document of these endpoints, printed once when first requested. */
export function openApi (endpoints: readonly EndpointDoc[], version: string): Handler<Call> {
  let body: string | undefined
  return async () => {
    body ??= JSON.stringify(openApiDocument(endpoints, { version, named }))
    return { status: 200, headers: jsonReplyHeaders, body }
  }
}
