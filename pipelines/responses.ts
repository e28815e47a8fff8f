/** Serves POST /v1/responses: items in, a response out, complete or streamed. */

import { toJsonReply } from '../lib/core/reply.ts'
import { compaction } from '../lib/dialects/responses/compaction.ts'
import { responsesDialect } from '../lib/dialects/responses/index.ts'
import type { ResponsesContext } from '../lib/dialects/responses/input.ts'
import { answerInBackground } from '../lib/stages/responses/answer-in-background.ts'
import { validate } from '../lib/stages/validate.ts'
import { ErrorBody } from '../schemas/errors.ts'
import {
  CompactedResponse,
  CompactRequest,
  InputTokens,
  ResponseObject,
  ResponsesRequest,
  ResponseStreamEvent
} from '../schemas/responses.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { conversation, promptCount, resumedConversation, type RequestStageOptions } from './conversation.ts'
import { providerErrors, type Docs } from './docs.ts'
import type { Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import type { Handler } from './pipeline.ts'

export const responsesDocs: Docs = {
  operationId: 'createResponse',
  group: 'Responses',
  summary: 'Create a response.',
  request: { schema: ResponsesRequest },
  answers: [
    { description: 'The response.', schema: ResponseObject },
    {
      description: 'With `stream`, the events of the response.',
      mediaType: 'text/event-stream',
      schema: ResponseStreamEvent
    }
  ],
  errors: ['invalid_value', 'unsupported_parameter', 'unsupported_value', ...providerErrors],
  errorBody: ErrorBody,
  dryRun: RouteDecision
}

export const countInputTokensDocs: Docs = {
  operationId: 'countInputTokens',
  group: 'Responses',
  summary: 'Count the tokens of the input of a response.',
  request: { schema: ResponsesRequest },
  answers: [
    { description: 'The count: that of the provider, or an estimate on the high side.', schema: InputTokens }
  ],
  errorBody: ErrorBody,
  headers: { 'x-headgate-token-count': '`provider`, or `estimate` where the provider does not count.' },
  errors: [
    'invalid_value',
    'unsupported_parameter',
    'unsupported_value',
    'context_length_exceeded',
    'content_refused',
    'model_not_found',
    'unknown_provider',
    'stage_unavailable'
  ],
  dryRun: RouteDecision
}

export const compactDocs: Docs = {
  operationId: 'compactResponse',
  group: 'Responses',
  summary: 'Compact a conversation. Available at OpenAI and Azure only.',
  routed: true,
  request: { schema: CompactRequest },
  answers: [{ description: 'The compacted items, as the provider returned them.', schema: CompactedResponse }],
  errorBody: ErrorBody,
  errors: ['invalid_value', 'not_found', ...providerErrors],
  dryRun: RouteDecision
}

const validResponses = validate(ResponsesRequest)

export function responses (services: Services, options: RequestStageOptions = {}): Handler<Call> {
  const dialect = responsesDialect(services.responseStore)
  const inBackground = answerInBackground(services, resumedConversation(services, dialect))
  return conversation(services, dialect, validResponses, { ...options, beforeAnswer: inBackground })
}

/** Serves POST /v1/responses/input_tokens. */
export function countInputTokens (services: Services, options: RequestStageOptions = {}): Handler<Call> {
  return promptCount<typeof ResponsesRequest, ResponsesContext>(
    services, responsesDialect(services.responseStore), validResponses,
    ({ tokens }) =>
      toJsonReply({ object: 'response.input_tokens', input_tokens: tokens } satisfies InputTokens),
    options
  )
}

const validCompact = validate(CompactRequest)

/** Serves POST /v1/responses/compact. */
export function compact (services: Services, options: RequestStageOptions = {}): Handler<Call> {
  return conversation(services, compaction(services.responseStore), validCompact, options)
}
