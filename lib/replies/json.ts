import { emptyPipeline } from '../core/errors.ts'
import { toJsonReply, type Reply } from '../core/reply.ts'
import type { Sink } from '../pipeline/stage.ts'

export interface JsonReplyOptions<T> {
  /** The HTTP status that goes with a value. Default 200. */
  readonly status?: (value: T) => number
}

/**
 * Ends a pipeline with its one value as JSON. The source is left after the first value.
 *
 * @throws whatever the stages throw; `internal_error` when they give no value.
 */
export function jsonReply<T> ({ status = () => 200 }: JsonReplyOptions<T> = {}): Sink<T, Reply> {
  return async source => {
    for await (const value of source) {
      return toJsonReply(value, status(value))
    }
    throw emptyPipeline()
  }
}
