import { emptyPipeline } from '../core/errors.ts'
import type { Reply } from '../core/reply.ts'
import type { Sink } from '../pipeline/stage.ts'

/**
 * Makes the end of a pipeline of what answers one value, such as a call: `replyWith(call => reply)`.
 *
 * @throws whatever the stages and `answer` throw; `internal_error` when there is no call
 */
export function replyWith<C> (answer: (value: C) => Reply | Promise<Reply>): Sink<C, Reply> {
  return async source => {
    for await (const value of source) return await answer(value)
    throw emptyPipeline()
  }
}
