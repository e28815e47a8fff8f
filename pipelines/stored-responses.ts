/**
 * Stored responses: fetches, cancels and deletes them, resumes their streams, and lists their input.
 * `responses` creates them.
 */

import { GatewayError, invalidValue } from '../lib/core/errors.ts'
import { inputItemPage } from '../lib/dialects/responses/input-item-list.ts'
import { toLargeReply, eventStream } from '../lib/replies/answer-reply.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { PrintedJson, toJsonReply, type Reply } from '../lib/core/reply.ts'
import { responsesDirectTexts, responsesListTexts } from '../lib/dialects/responses/text-places.ts'
import { withRestoredTexts } from '../lib/replies/restored-texts.ts'
import { callerProviderKey } from '../lib/routing/provider-choice.ts'
import { auth } from '../lib/stages/auth.ts'
import { deleteAtProvider } from '../lib/deferred/delete-at-provider.ts'
import { splitFrames } from '../lib/wire/sse-frames.ts'
import { ownKeyHeader } from '../lib/wire/openapi-headers.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { Secret } from '../lib/core/secret.ts'
import type { ResponseOrigin } from '../lib/dialects/responses/archive.ts'
import type { Services } from '../lib/services.ts'
import { ErrorBody } from '../schemas/errors.ts'
import { DeletedResponse, InputItemList, ResponseObject, ResponseStreamEvent } from '../schemas/responses.ts'
import type { Docs } from './docs.ts'

const common = { group: 'Responses', errors: ['not_found'], errorBody: ErrorBody } as const

export const retrieveResponseDocs: Docs = {
  ...common,
  operationId: 'retrieveResponse',
  summary: 'Fetch a stored response.',
  errors: ['invalid_value', 'not_found'],
  query: {
    stream: {
      description: 'With `true`, the events of a response that was created with `background` and `stream`.',
      type: 'boolean'
    },
    starting_after: { description: 'The number of the last event that the caller has.', type: 'integer' }
  },
  answers: [
    { description: 'The response.', schema: ResponseObject },
    {
      description: 'With `stream`, its events.',
      mediaType: 'text/event-stream',
      schema: ResponseStreamEvent
    }
  ]
}

export const cancelResponseDocs: Docs = {
  ...common,
  operationId: 'cancelResponse',
  summary: 'Cancel a background response. One that has ended stays as it is.',
  errors: ['invalid_value', 'not_found'],
  answers: [{ description: 'The response.', schema: ResponseObject }]
}

export const deleteResponseDocs: Docs = {
  ...common,
  operationId: 'deleteResponse',
  summary:
    'Delete a stored response, including the provider\'s copy. Responses that continue it can still be continued.',
  requestHeaders: ownKeyHeader,
  headers: {
    'x-headgate-provider-copy':
      '`deleted`, or `kept` where the provider did not delete its copy; absent where it has none.'
  },
  answers: [{ description: 'The response is deleted.', schema: DeletedResponse }]
}

export const listInputItemsDocs: Docs = {
  ...common,
  operationId: 'listInputItems',
  errors: ['invalid_value', 'not_found', 'context_length_exceeded'],
  summary:
    'List the input items of a stored response, including those of the conversation before it.',
  query: {
    limit: { description: 'Number of items, from 1 to 100. Default: 20.', type: 'integer' },
    order: {
      description: '`asc` or `desc`, the order of the conversation or the newest first. Default: `desc`.',
      type: 'string'
    },
    after: { description: 'The id of the last item of the previous page.', type: 'string' }
  },
  answers: [{ description: 'One page of them.', schema: InputItemList }]
}

/** Serves GET /v1/responses/{response_id}. */
export function retrieveResponse (services: Services): Handler<Call> {
  return pipeline(auth(services), replyWith(async (call: AuthedCall) => {
    const id = idOf(call)
    const { stream, after } = readQuery(call.query ?? '')
    if (stream) return await replay(services, call, id, after + 1)
    const text = await services.responseStore?.findText(call.key.id, id, call.takeMemory)
    if (text === undefined) throw notFound(id)
    return await restored(services, call, toJsonReply(new PrintedJson(text)))
  }))
}

/** Returns a reply about a stored response for its caller: with values in place of placeholders. */
async function restored (
  { responseStore, textGuards }: Services,
  call: AuthedCall,
  reply: Reply,
  texts = responsesDirectTexts
): Promise<Reply> {
  const { reversible } = textGuards ?? {}
  const sealed = reversible && await responseStore?.placeholders(call.key.id, idOf(call))
  return reversible === undefined || sealed === undefined
    ? reply
    : withRestoredTexts(reply, reversible.open(call.key, sealed), texts)
}

/**
 * Streams a response from a given event on.
 *
 * @throws GatewayError `not_found`; `invalid_value` for a response that was not created as a stream in the
 *   background
 */
async function replay (services: Services, call: AuthedCall, id: string, from: number): Promise<Reply> {
  const { responseStore, backgroundRuns } = services
  const { key, signal } = call
  if (await responseStore?.status(key.id, id) === undefined) throw notFound(id)
  if (backgroundRuns === undefined || (await responseStore?.frames.has(id)) !== true) {
    throw new GatewayError('invalid_value', {
      param: 'stream',
      message: 'Only responses that were created with `background` and `stream` can be streamed.'
    })
  }
  const fromStart = await restored(services, call, eventStream(backgroundRuns.stream(key.id, id, 0, signal)))
  const { restoreForCaller } = fromStart
  if (restoreForCaller === undefined) return eventStream(backgroundRuns.stream(key.id, id, from, signal))
  // Earlier events may contain the first half of a placeholder.
  return {
    ...fromStart,
    restoreForCaller: async captured => {
      const reply = await restoreForCaller(captured)
      return { ...reply, body: framesFrom(from, reply.body as AsyncIterable<string>) } // an event stream
    }
  }
}

/** Yields the frames of one of our streams, starting with the event of a given number. */
async function* framesFrom (
  from: number,
  pieces: AsyncIterable<string>
): AsyncGenerator<string, void, undefined> {
  for await (const piece of pieces) {
    const rest = splitFrames(piece).filter(frame => numberOf(frame) >= from).join('')
    if (rest !== '') yield rest
  }
}

const dataField = 'data: '

/** Returns the number of an event; the end of a stream sorts last. */
function numberOf (frame: string): number {
  const json = frame.slice(frame.indexOf(dataField) + dataField.length)
  if (!json.startsWith('{')) return Infinity
  return (JSON.parse(json) as { readonly sequence_number: number }).sequence_number // as they are stored
}

/** Serves POST /v1/responses/{response_id}/cancel. */
export function cancelResponse (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    replyWith(async (call: AuthedCall) => {
      const id = idOf(call)
      const found = await services.responseStore?.find(call.key.id, id, call.takeMemory)
      if (found === undefined) throw notFound(id)
      if (!found.background) {
        throw new GatewayError('invalid_value', {
          param: 'response_id',
          message: 'Only responses that were created with `background` can be cancelled.'
        })
      }
      const reply = await toLargeReply((await services.backgroundRuns?.cancel(call.key.id, found)) ?? found)
      return await restored(services, call, reply)
    })
  )
}

function readQuery (query: string): { readonly stream: boolean, readonly after: number } {
  const given = new URLSearchParams(query)
  const stream = given.get('stream') ?? 'false'
  if (stream !== 'true' && stream !== 'false') {
    throw invalidValue('stream', '`stream` must be `true` or `false`.')
  }
  const text = given.get('starting_after')
  const after = text === null ? -1 : Number(text)
  if (text !== null && (text === '' || !Number.isInteger(after) || after < 0)) {
    throw invalidValue('starting_after', '`starting_after` must be the number of an event.')
  }
  return { stream: stream === 'true', after }
}

/** Serves DELETE /v1/responses/{response_id}. */
export function deleteResponse (services: Services): Handler<Call> {
  return pipeline(auth(services), replyWith(async (call: AuthedCall) => {
    const id = idOf(call)
    const callerKey = callerProviderKey(call.headers)
    const removed = await services.responseStore?.remove(call.key.id, id)
    if (removed === undefined) throw notFound(id)
    const reply = toJsonReply({ id, object: 'response', deleted: true } satisfies DeletedResponse)
    if (removed.origin === undefined) return reply
    const copy = await deleteCopy(services, call, removed.origin, callerKey)
    return { ...reply, headers: { ...reply.headers, 'x-headgate-provider-copy': copy } }
  }))
}

/** Deletes the provider's copy. If that fails, the response is still deleted here, and reported as such. */
async function deleteCopy (
  { providers }: Services,
  { key, record }: AuthedCall,
  origin: ResponseOrigin,
  callerKey: Secret | undefined
): Promise<'deleted' | 'kept'> {
  record.routing.providerId = origin.providerId
  try {
    await deleteAtProvider(providers.get(origin.providerId), origin, key.id, callerKey)
    return 'deleted'
  } catch (error) {
    record.end.cause = error
    return 'kept'
  }
}

/** Serves GET /v1/responses/{response_id}/input_items. */
export function listInputItems (services: Services): Handler<Call> {
  return pipeline(auth(services), replyWith(async (call: AuthedCall) => {
    const id = idOf(call)
    const items = await services.responseStore?.conversations.inputItems(call.key.id, id, call.takeMemory)
    if (items === undefined) throw notFound(id)
    const reply = await toLargeReply(inputItemPage(items, call.query ?? ''))
    return await restored(services, call, reply, responsesListTexts)
  }))
}

function idOf ({ params }: AuthedCall): string {
  return params['response_id'] ?? ''
}

/** Returns the same error for a response that is unknown, deleted, expired or another key's. */
function notFound (id: string): GatewayError {
  const shown = id.length > 80 ? `${id.slice(0, 80)}…` : id
  return new GatewayError('not_found', {
    param: 'response_id',
    message: `Response with id '${shown}' not found.`
  })
}
