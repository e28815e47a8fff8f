/** Stored responses: fetching and deleting one, and listing what it was made of. They are made by `responses`. */

import { GatewayError } from '../lib/core/errors.ts'
import { inputItemPage } from '../lib/dialects/responses/input-item-list.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { toJsonReply } from '../lib/core/reply.ts'
import { auth } from '../lib/stages/auth.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import { ErrorBody } from '../schemas/errors.ts'
import { DeletedResponse, InputItemList, ResponseObject } from '../schemas/responses.ts'
import type { Docs } from './docs.ts'

const common = { group: 'Responses', errors: ['not_found'], errorBody: ErrorBody } as const

export const retrieveResponseDocs: Docs = {
  ...common,
  operationId: 'retrieveResponse',
  summary: 'Fetch a stored response.',
  answers: [{ description: 'The response.', schema: ResponseObject }]
}

export const deleteResponseDocs: Docs = {
  ...common,
  operationId: 'deleteResponse',
  summary: 'Delete a stored response. Responses that continue it still can be continued.',
  answers: [{ description: 'The response is deleted.', schema: DeletedResponse }]
}

export const listInputItemsDocs: Docs = {
  ...common,
  operationId: 'listInputItems',
  errors: ['invalid_value', 'not_found', 'context_length_exceeded'],
  summary: 'List the items that a stored response was made of, those of the conversation before it included.',
  query: {
    limit: { description: 'Number of items, from 1 to 100. Default: 20.', type: 'integer' },
    order: { description: '`asc` or `desc`, the order of the conversation or the newest first. Default: `desc`.', type: 'string' },
    after: { description: 'The id of the last item of the page before.', type: 'string' }
  },
  answers: [{ description: 'One page of them.', schema: InputItemList }]
}

/** Serves GET /v1/responses/{response_id}. */
export function retrieveResponse (services: Services): Handler<Call> {
  return pipeline(auth(services), replyWith(async call => {
    const id = idOf(call)
    const found = await services.responseStore?.find(call.key.id, id)
    if (found === undefined) throw notFound(id)
    return toJsonReply(found)
  }))
}

/** Serves DELETE /v1/responses/{response_id}. */
export function deleteResponse (services: Services): Handler<Call> {
  return pipeline(auth(services), replyWith(async call => {
    const id = idOf(call)
    if (await services.responseStore?.remove(call.key.id, id) !== true) throw notFound(id)
    return toJsonReply({ id, object: 'response', deleted: true } satisfies DeletedResponse)
  }))
}

/** Serves GET /v1/responses/{response_id}/input_items. */
export function listInputItems (services: Services): Handler<Call> {
  return pipeline(auth(services), replyWith(async call => {
    const id = idOf(call)
    const items = await services.responseStore?.inputItems(call.key.id, id)
    if (items === undefined) throw notFound(id)
    return toJsonReply(inputItemPage(items, call.query ?? ''))
  }))
}

function idOf ({ params }: AuthedCall): string {
  return params['response_id'] ?? ''
}

/** Answers alike for a response that is unknown, deleted, expired or another key's. */
function notFound (id: string): GatewayError {
  const shown = id.length > 80 ? `${id.slice(0, 80)}…` : id
  return new GatewayError('not_found', { param: 'response_id', message: `Response with id '${shown}' not found.` })
}
