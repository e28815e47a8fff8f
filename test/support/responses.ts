/** Calls and answers of the Responses API for tests of its dialect. */

import { responsesInput, type ResponsesContext } from '../../lib/dialects/responses/input.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { collect, routedCall } from './stages.ts'
import type { AnswerStart, ChatBatch, DialectCall } from '../../lib/dialects/dialect.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { FramePrinter } from '../../lib/wire/sse-frames.ts'
import type { ResponsesRequest } from '../../schemas/responses.ts'

/** Returns a call with this request, as `input` gives it to the stages. */
export function responsesCall (request: Partial<ResponsesRequest>): DialectCall<ResponsesContext> {
  return responsesInput(routedCall(
    { model: 'openai/gpt-5', input: 'Hi', ...request },
    { signal: new CallCancellation(), record: new CallRecord('responses') }
  ))
}

/** Returns the start of the answer to a request. */
export function responsesStart (request: Partial<ResponsesRequest> = {}): AnswerStart<ResponsesContext> {
  const call = responsesCall(request)
  const route = { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }
  return {
    head: { type: 'answer-start', id: 'chatcmpl-1', model: 'openai/gpt-5', createdSeconds: 1763686800 },
    call: { ...call, routes: [route] },
    route,
    context: call.context
  }
}

/** Returns events as the batches of an answer, some in each. */
export function batchesOf (
  { call }: AnswerStart<ResponsesContext>,
  events: readonly ChatEvent[]
): ChatBatch[] {
  return [{ call, route: call.routes[0], events }]
}

/** Returns the printed text of events. */
export function printedText (printer: FramePrinter<ChatEvent>, events: readonly ChatEvent[]): string {
  return printer.print(events)
}

/** Returns everything that a printer sends for events before the next ones are read. */
export async function fullText (
  printer: FramePrinter<ChatEvent>,
  events: readonly ChatEvent[]
): Promise<string> {
  return printer.print(events) || String(await printer.printLarge?.() ?? '')
}

/** Returns the frames that a printer sends after its end. */
export async function lastFrames (printer: FramePrinter<ChatEvent>): Promise<string[]> {
  const frames = printer.last?.()
  return frames === undefined ? [] : (await collect(frames)).map(String)
}

export type StreamEvent = { readonly type: string, readonly sequence_number: number } & Readonly<
  Record<string, unknown>
>

/** Parses the frames of a stream, and checks that the name of each event is its type. */
export function streamEvents (text: string): StreamEvent[] {
  return text.split('\n\n').filter(frame => frame.startsWith('event: ')).map(frame => {
    const [name = '', data = ''] = frame.split('\n')
    const event = JSON.parse(data.slice('data: '.length)) as StreamEvent // ours
    if (name !== `event: ${event.type}`) throw new Error(`${name} holds ${event.type}`)
    return event
  })
}
