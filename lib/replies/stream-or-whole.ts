/**
 * The end of a pipeline whose caller chooses: an event stream, or the same answer in one piece.
 */

import { GatewayError } from '../errors.ts'
import type { Batch } from '../batch.ts'
import type { Reply } from '../reply.ts'
import type { Sink, Stage } from '../stage.ts'

export interface StreamOrWhole<B> {
  /** Batches to the text of an event stream. */
  readonly streamed: Stage<B, string>
  /** All batches of an answer to the value whose JSON is the answer. */
  readonly whole: (batches: B[]) => unknown
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' }
const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no'
}
/** One comment line: the event that follows is glued to it, so every client reads it. */
const keepAlive = { text: ': ping\n', everyMs: 15_000 }

/**
 * Waits for the first batch, which decides the status: a source that fails before it rejects.
 */
export function streamOrWhole<R extends { readonly stream?: boolean | undefined }, E, B extends Batch<R, E> = Batch<R, E>> (
  { streamed, whole }: StreamOrWhole<B>
): Sink<B, Reply> {
  return async source => {
    const batches = source[Symbol.asyncIterator]()
    const first = await batches.next()
    if (first.done === true) throw new GatewayError('internal_error', { cause: 'a pipeline without an answer' })
    if (first.value.call.request.stream === true) {
      return {
        status: 200, headers: streamHeaders, body: streamed(resumed(first.value, batches)), keepAlive
      }
    }
    const all: B[] = [first.value]
    for (let next = await batches.next(); next.done !== true; next = await batches.next()) all.push(next.value)
    return { status: 200, headers: jsonHeaders, body: JSON.stringify(whole(all)) }
  }
}

/** A source that has already given its first value. Leaving it early returns it. */
function resumed<T> (first: T, rest: AsyncIterator<T>): AsyncIterable<T> {
  let given = false
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (given) return await rest.next()
        given = true
        return { done: false, value: first }
      },
      return: async () => await rest.return?.() ?? { done: true, value: undefined }
    })
  }
}
