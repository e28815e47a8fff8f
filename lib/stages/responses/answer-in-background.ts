/**
 * Makes responses in the background: the caller gets the queued response, and fetches the result later.
 */

import { contextOf, copyCall } from '../../core/call.ts'
import { asGatewayError } from '../../core/errors.ts'
import { map, type Stage } from '../../pipeline/stage.ts'
import { EarlyReply, nowSeconds, toJsonReply, type Reply } from '../../core/reply.ts'
import { requestBytes } from '../../core/request-size.ts'
import { attributionIn } from '../../core/call-attribution.ts'
import type { CallRecord } from '../../core/record.ts'
import { runDetached } from '../../deferred/run-detached.ts'
import { failedFields, startedResponse } from '../../dialects/responses/response-object.ts'
import { responsesDirectTexts } from '../../dialects/responses/text-places.ts'
import { eventStream } from '../../replies/answer-reply.ts'
import { withRestoredTexts } from '../../replies/restored-texts.ts'
import { printText } from '../../json/print-in-slices.ts'
import { sseEvent } from '../../wire/sse-frames.ts'
import type { RoutedChatCall } from '../../chat/input.ts'
import type { KeepResponse, ResponsesContext } from '../../dialects/responses/input.ts'
import type { BackgroundRuns } from '../../deferred/background-runs.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'
import type { Services } from '../../services.ts'

/**
 * Passes a call on, unless its answer is to be made in the background.
 *
 * @param answer the pipeline that answers a routed call
 * @throws EarlyReply with the queued response, or its stream
 */
export function answerInBackground (
  services: Pick<Services, 'backgroundRuns' | 'keys' | 'recordRules' | 'settings'>,
  answer: (call: RoutedChatCall) => Promise<Reply>
): Stage<RoutedChatCall> {
  const { backgroundRuns: runs } = services
  return map(async call => {
    const context = contextOf<ResponsesContext>(call)
    if (context.request.background !== true || runs === undefined) return call
    const queued = queuedResponse(call, context)
    const isStreamed = call.request.stream === true
    call.record.request.isDeferred = true
    await runs.begin({
      toKeep: { keyId: call.key.id, ...context.kept(queued) },
      firstFrames: isStreamed
        ? ['response.created', 'response.queued'].map((type, number) => frameOf(type, queued, number))
        : [],
      failed: error => failedResponse(queued, error),
      onEnd: call.keepMemory?.(),
      run: async (signal, write) => {
        await runDetached(
          services,
          'responses',
          copyCall(call, {
            bodyBytes: requestBytes(call.record.request),
            attribution: attributionIn(call.record.caller)
          }),
          signal,
          runs.events,
          async detached => {
            const own: ResponsesContext = {
              ...context,
              queued,
              keep: keepIn(runs, call.record, async () => await call.journalAnswer?.(detached))
            }
            detached.record.guards.placeholders = call.record.guards.placeholders
            detached.record.bodies?.takeRequest([Buffer.from(await printText(context.request))])
            const reply = await answer(copyCall(call, { ...detached, context: own }))
            return await written(detached.record.bodies?.watch(reply) ?? reply, write)
          }
        )
      }
    })
    const reply = isStreamed
      ? eventStream(runs.stream(call.key.id, queued.id, 0, call.signal))
      : toJsonReply(queued)
    const { guards: { placeholders } } = call.record
    throw new EarlyReply(
      placeholders === undefined ? reply : withRestoredTexts(reply, placeholders, responsesDirectTexts)
    )
  })
}

function queuedResponse (call: RoutedChatCall, context: ResponsesContext): ResponseObject {
  const [route] = call.routes
  const started = startedResponse({
    head: { type: 'answer-start', id: '', model: route.modelId, createdSeconds: nowSeconds() },
    call,
    route,
    context
  })
  return { ...started, status: 'queued' }
}

/** @param record records the call before its response can be fetched */
function keepIn (
  runs: BackgroundRuns,
  { guards: { placeholders } }: Pick<CallRecord, 'guards'>,
  record: () => Promise<void>
): KeepResponse {
  return async (response, origin) => {
    await record()
    await runs.finish(response, origin, placeholders?.sealed())
    return response
  }
}

async function written (
  { status, body }: Reply,
  write: (text: string) => void
): Promise<{ readonly status: number }> {
  if (typeof body === 'string' || body instanceof Uint8Array) return { status }
  for await (const frames of body) write(typeof frames === 'string' ? frames : Buffer.from(frames).toString())
  return { status }
}

function failedResponse (queued: ResponseObject, thrown: unknown): ResponseObject {
  return { ...queued, ...failedFields(asGatewayError(thrown)) }
}

function frameOf (type: string, response: ResponseObject, number: number): string {
  return sseEvent(type, JSON.stringify({ type, response, sequence_number: number }))
}
