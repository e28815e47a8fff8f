/** Ends a pipeline with an event stream or with the same answer in one piece, as the caller requested. */

import { PrintedJson, eventStreamHeaders, jsonReplyHeaders, toJsonReply, type Reply } from '../core/reply.ts'
import type { AnswerDialect, AnswerHead, AnswerStart, ChatBatch } from '../dialects/dialect.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import { keepAliveComment, sseFrames } from '../wire/sse-frames.ts'
import { withRestoredTexts } from './restored-texts.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import type { Batch } from '../core/batch.ts'
import type { CallRecord } from '../core/record.ts'
import { collected, peek } from '../pipeline/sources.ts'
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
  directTexts,
  printedTexts = directTexts
}: AnswerDialect<C>): Sink<ChatBatch, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    const start = answerStart<C>(first)
    const { call } = start
    let reply: Reply
    if (call.request.stream === true) {
      const printer = encode(start)
      reply = eventStream(sseFrames<ChatBatch>(() => printer)(all), printer.keepAlive?.bind(printer))
    } else reply = await toAnswerReply(await complete(start, await collected(all)), call.record)
    const { placeholders } = call.record
    if (placeholders !== undefined && printedTexts !== undefined) {
      reply = withRestoredTexts(reply, placeholders, printedTexts)
    }
    // Spreading `reply` in front of `headers` costs 3 µs.
    return headers === undefined
      ? reply
      : Object.assign({}, reply, { headers: Object.assign({}, reply.headers, headers(call)) })
  }
}

/** Batches of a call that says whether it wants a stream. */
type StreamableBatch = Batch<{ readonly stream?: boolean | undefined }, unknown>

export interface StreamOrJson<B, W> {
  /** Batches to the frames of an event stream. */
  readonly streamed: Stage<B, string | Uint8Array>
  /** All batches of an answer as one value. */
  readonly complete: (batches: B[]) => W
  /** That value as a reply. Default: its JSON. */
  readonly write?: (value: W, record: CallRecord) => Reply | Promise<Reply>
}

/**
 * Answers with batches of any kind. Waits for the first, which decides the status: a source that fails before
 * it rejects.
 */
export function streamOrJson<B extends StreamableBatch, W = unknown> (
  { streamed, complete, write = toAnswerReply }: StreamOrJson<B, W>
): Sink<B, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    if (first.call.request.stream === true) return eventStream(streamed(all))
    return await write(complete(await collected(all)), first.call.record)
  }
}

/** Returns the start of an answer by its first normalised batch. */
export function answerStart<C> ({ call, route, events }: ChatBatch): AnswerStart<C> {
  return {
    head: events[0] as AnswerHead, // by normalise
    call,
    route,
    context: call.context as C // by the `input` of the same dialect
  }
}

/**
 * Makes a reply of the frames of an event stream.
 *
 * @param silence returns what keeps a quiet stream alive. Default: a comment
 */
export function eventStream (frames: AsyncIterable<string | Uint8Array>, silence?: () => string): Reply {
  return {
    status: 200,
    headers: eventStreamHeaders,
    body: frames,
    keepAlive: silence === undefined ? keepAlive : { ...keepAlive, text: silence }
  }
}

/** Makes a JSON reply of a complete answer; a promise only for a large one. */
export function toAnswerReply (
  value: unknown,
  { answerBytes }: Pick<CallRecord, 'answerBytes'>
): Reply | Promise<Reply> {
  return answerBytes < largeAnswerBytes || value instanceof PrintedJson
    ? toJsonReply(value)
    : toLargeReply(value)
}

/** Returns a value as a reply in JSON, a large one printed in slices. */
export async function toLargeReply (value: unknown): Promise<Reply> {
  return { status: 200, headers: jsonReplyHeaders, body: await bufferBody(() => printInSlices(value)) }
}
