/** Ends a pipeline of chat events in the caller's dialect: an event stream, or the same answer in one piece. */

import { collected, peek } from '../async/peek.ts'
import { answerStart, type AnswerDialect, type ChatBatch } from '../dialects/dialect.ts'
import { sseFrames } from '../stages/sse-frames.ts'
import { eventStream } from './event-stream.ts'
import { toAnswerReply } from './to-answer-reply.ts'
import type { Reply } from '../core/reply.ts'
import type { Sink } from '../pipeline/stage.ts'

/** Waits for the first batch of `normalise`, which decides the status: a source that fails before it rejects. */
export function answerReply<C> ({ encode, complete, headers }: AnswerDialect<C>): Sink<ChatBatch, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    const start = answerStart<C>(first)
    const { call } = start
    const reply = call.request.stream === true
      ? streamed(encode(start), all)
      : await toAnswerReply(await complete(start, await collected(all)), call.record)
    // Spreading `reply` in front of `headers` costs 3 µs.
    return headers === undefined ? reply : Object.assign({}, reply, { headers: Object.assign({}, reply.headers, headers(call)) })
  }
}

function streamed (printer: ReturnType<AnswerDialect['encode']>, batches: AsyncIterable<ChatBatch>): Reply {
  return eventStream(sseFrames<ChatBatch>(() => printer)(batches), printer.keepAlive?.bind(printer))
}
