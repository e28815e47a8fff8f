/** Ends a pipeline of chat events in the caller's dialect: an event stream, or the same answer in one piece. */

import { collected, peek, type PeekResult } from '../async/peek.ts'
import { answerStart, type AnswerDialect, type AnswerStart, type ChatBatch } from '../dialects/dialect.ts'
import { sseFrames } from '../stages/sse-frames.ts'
import { EndedFrames } from './ended-frames.ts'
import { eventStream } from './event-stream.ts'
import { toAnswerReply } from './to-answer-reply.ts'
import type { Reply } from '../core/reply.ts'
import type { Sink } from '../pipeline/stage.ts'

/** Waits for the first batch of `normalise`, which decides the status: a source that fails before it rejects. */
export function answerReply<C> ({ encode, complete, headers }: AnswerDialect<C>): Sink<ChatBatch, Reply> {
  const withHeaders = (reply: Reply, { call }: AnswerStart<C>): Reply =>
    // Spreading `reply` in front of `headers` costs 3 µs.
    headers === undefined ? reply : Object.assign({}, reply, { headers: Object.assign({}, reply.headers, headers(call)) })
  const replyOf = ({ first, all }: PeekResult<ChatBatch>): Reply | Promise<Reply> => {
    const start = answerStart<C>(first)
    const made = start.call.request.stream === true ? streamed(encode(start), all) : completed(all, start, complete)
    return made instanceof Promise ? made.then(reply => withHeaders(reply, start)) : withHeaders(made, start)
  }
  return source => {
    try {
      const peeked = peek(source)
      return peeked instanceof Promise ? peeked.then(replyOf) : Promise.resolve(replyOf(peeked))
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** Waits only where the batches do, or what is made of them. */
function completed<C> (all: AsyncIterable<ChatBatch>, start: AnswerStart<C>, complete: AnswerDialect<C>['complete']): Reply | Promise<Reply> {
  const { record } = start.call
  const batches = collected(all)
  const answer = batches instanceof Promise ? batches.then(there => complete(start, there)) : complete(start, batches)
  return answer instanceof Promise ? answer.then(there => toAnswerReply(there, record)) : toAnswerReply(answer, record)
}

function streamed (printer: ReturnType<AnswerDialect['encode']>, batches: AsyncIterable<ChatBatch>): Reply {
  const frames = sseFrames<ChatBatch>(() => printer)(batches)
  return eventStream(printer.last === undefined ? frames : new EndedFrames(frames, printer.last), printer.keepAlive?.bind(printer))
}
