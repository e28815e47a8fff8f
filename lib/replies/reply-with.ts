/** Sinks of pipelines that end with a single value. */

import { emptyPipeline } from '../core/errors.ts'
import { toJsonReply, type Reply } from '../core/reply.ts'
import type { Sink } from '../pipeline/stage.ts'

/**
 * Ends a pipeline with a function from a value, such as a call, to its reply: `replyWith(call => reply)`. The
 * source is left after the first value.
 *
 * @throws whatever the stages and `answer` throw; `internal_error` if there is no value
 */
export function replyWith<C> (answer: (value: C) => Reply | Promise<Reply>): Sink<C, Reply> {
  return async source => {
    for await (const value of source) return await answer(value)
    throw emptyPipeline()
  }
}

export interface JsonReplyOptions<T> {
  /** The HTTP status for a value. Default 200. */
  readonly status?: (value: T) => number
}

/** Ends a pipeline with its single value as JSON. */
export function jsonReply<T> ({ status = () => 200 }: JsonReplyOptions<T> = {}): Sink<T, Reply> {
  return replyWith<T>(value => toJsonReply(value, status(value)))
}
