/** Serves POST /v1/responses: items in, a response out, in one piece or as it is written. */

import { responsesDialect } from '../lib/dialects/responses/index.ts'
import { ErrorBody } from '../schemas/errors.ts'
import { ResponseObject, ResponsesRequest, ResponseStreamEvent } from '../schemas/responses.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import { conversation, type ConversationOptions } from './conversation.ts'
import { fromProvider, type Docs } from './docs.ts'
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
  errors: ['invalid_value', 'unsupported_parameter', 'unsupported_value', ...fromProvider],
  errorBody: ErrorBody,
  dryRun: RouteDecision
}

export function responses (services: Services, options: ConversationOptions = {}): Handler<Call> {
  return conversation(services, responsesDialect(services.responseStore), options)
}
