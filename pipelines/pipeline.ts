/** Builds pipelines: stages in order, from a call to its reply. */

import { pipe } from 'it-pipe'
import { EarlyReply, type Reply } from '../lib/core/reply.ts'
import { fuse } from '../lib/pipeline/chain.ts'
import { once } from '../lib/pipeline/sources.ts'
import type { Sink, Stage } from '../lib/pipeline/stage.ts'
import type { Connected, FirstIn, ListWithSink } from '../lib/pipeline/stage-list.ts'

/** Answers one call. */
export type Handler<C> = (call: C) => Promise<Reply>

/** `pipe` for a list of unknown length. */
const pipeAll = pipe as (source: AsyncIterable<unknown>, ...functions: readonly unknown[]) => unknown

/**
 * Builds a pipeline, once: the list is everything that happens to a call, in that order. Each stage must
 * accept the output of the one before it; the compiler names the first that does not (`StageDoesNotFit`). A
 * call then only runs what was built.
 *
 * ```ts
 * const handle = pipeline(auth(services), map(answerOf), jsonReply())
 * ```
 *
 * @returns a function that rejects with whatever a stage throws, except an `EarlyReply`, whose reply it
 *   resolves with
 */
export function pipeline<const L extends ListWithSink<Reply>> (...list: Connected<L>): Handler<FirstIn<L>> {
  const stages = fuse(list.slice(0, -1) as Array<Stage<never, unknown>>) // as `ListWithSink` requires
  const sink = list.at(-1) as Sink<unknown, Reply>
  return async call => {
    try {
      return await (pipeAll(once(call), ...stages, sink) as Promise<Reply>) // the sink's return value
    } catch (thrown) {
      if (thrown instanceof EarlyReply) return thrown.reply
      throw thrown
    }
  }
}
