/** Ends a pipeline with an event stream or with the same answer in one piece, as the caller requested. */

import { contextOf, type Batch } from '../core/call.ts'
import { PrintedJson, eventStreamHeaders, jsonReplyHeaders, toJsonReply, type Reply } from '../core/reply.ts'
import { PlaceholderFilter } from '../guards/placeholder-filter.ts'
import type { AnswerDialect, AnswerHead, AnswerStart, ChatBatch } from '../dialects/dialect.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import { keepAliveComment, sseFrames } from '../wire/sse-frames.ts'
import { withRestoredTexts } from './restored-texts.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import type { CallRecord, RoutingFacts } from '../core/record.ts'
import { collect, peek } from '../pipeline/sources.ts'
import type { Sink, Stage } from '../pipeline/stage.ts'

const keepAlive = { text: keepAliveComment, everyMs: 15_000 }

/** Answers of at least this size are printed in slices. */
const largeAnswerBytes = 1024 * 1024

/**
 * Replies with chat events in the caller's dialect. Waits for the first batch of `normalise`, which decides
 * the status: a source that fails before it rejects the promise.
 */
export function answerReply<C> ({
  encode,
  complete,
  headers,
  direct,
  printedTexts = direct?.texts
}: AnswerDialect<C>): Sink<ChatBatch, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    const start = answerStart<C>(first)
    const { call } = start
    let reply: Reply
    if (call.request.stream === true) {
      const printer = encode(start)
      reply = eventStream(sseFrames<ChatBatch>(() => printer)(all), printer.keepAlive?.bind(printer))
    } else reply = await toAnswerReply(await complete(start, await collect(all)), call.record)
    const { guards: { placeholders } } = call.record
    if (placeholders !== undefined && printedTexts !== undefined) {
      reply = withRestoredTexts(reply, placeholders, printedTexts)
    }
    return headers === undefined ? reply : { ...reply, headers: { ...reply.headers, ...headers(call) } }
  }
}

/** Batches of a call that states whether it wants a stream. */
type StreamableBatch = Batch<{ readonly stream?: boolean | undefined }, unknown>

export interface StreamOrJson<B, W> {
  /** Turns batches into the frames of an event stream. */
  readonly streamed: Stage<B, string | Uint8Array>
  /** Folds all batches of an answer into one value. */
  readonly complete: (batches: B[]) => W
  /** Turns that value into a reply. Default: its JSON. */
  readonly write?: (value: W, record: CallRecord) => Reply | Promise<Reply>
}

/**
 * Replies with batches of any kind. Waits for the first batch, which decides the status: a source that fails
 * before it rejects the promise.
 */
export function streamOrJson<B extends StreamableBatch, W = unknown> (
  { streamed, complete, write = toAnswerReply }: StreamOrJson<B, W>
): Sink<B, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    if (first.call.request.stream === true) return eventStream(streamed(all))
    return await write(complete(await collect(all)), first.call.record)
  }
}

/** Returns the start of an answer from its first normalised batch. */
export function answerStart<C> ({ call, route, events }: ChatBatch): AnswerStart<C> {
  const { guards: { placeholders } } = call.record
  return {
    head: events[0] as AnswerHead, // set by normalise
    call,
    route,
    context: contextOf(call),
    ...placeholders !== undefined && { restore: new PlaceholderFilter(placeholders).replace }
  }
}

/**
 * Creates the reply of an event stream from its frames.
 *
 * @param silence returns the text that keeps a quiet stream alive. Default: a comment
 */
export function eventStream (frames: AsyncIterable<string | Uint8Array>, silence?: () => string): Reply {
  return {
    status: 200,
    headers: eventStreamHeaders,
    body: frames,
    keepAlive: silence === undefined ? keepAlive : { ...keepAlive, text: silence }
  }
}

/** Creates a JSON reply of a complete answer; a promise only for a large one. */
export function toAnswerReply (
  value: unknown,
  { routing: { answerBytes } }: { readonly routing: Pick<RoutingFacts, 'answerBytes'> }
): Reply | Promise<Reply> {
  return answerBytes < largeAnswerBytes || value instanceof PrintedJson
    ? toJsonReply(value)
    : toLargeReply(value)
}

/** Returns a value as a reply in JSON, a large one printed in slices. */
export async function toLargeReply (value: unknown): Promise<Reply> {
  return { status: 200, headers: jsonReplyHeaders, body: await bufferBody(() => printInSlices(value)) }
}
