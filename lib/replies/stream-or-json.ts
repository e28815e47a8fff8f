/** Ends a pipeline whose caller chooses: an event stream, or the same answer in one piece. */

import { peek } from '../async/peek.ts'
import { eventStream, toAnswerReply } from './answer-reply.ts'
import type { Batch } from '../core/batch.ts'
import type { CallRecord } from '../core/record.ts'
import type { Reply } from '../core/reply.ts'
import type { Sink, Stage } from '../pipeline/stage.ts'

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
 * Waits for the first batch, which decides the status: a source that fails before it rejects.
 */
export function streamOrJson<B extends StreamableBatch, W = unknown> (
  { streamed, complete, write = toAnswerReply }: StreamOrJson<B, W>
): Sink<B, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    if (first.call.request.stream === true) return eventStream(streamed(all))
    const batches: B[] = []
    for await (const batch of all) batches.push(batch)
    const reply = write(complete(batches), first.call.record)
    return reply instanceof Promise ? await reply : reply
  }
}
