import type { Call } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'

/** Prints the frames of one streamed answer. */
export interface FramePrinter<E> {
  /** Returns the frames of a batch; may be empty. */
  readonly print: (events: readonly E[]) => string
  /** Returns the last frames of a complete answer, including the end of the stream. */
  readonly end: () => string
  /**
   * Returns the last frames of an interrupted answer. Default: one message named `error`, as OpenAI's clients
   * expect.
   */
  readonly fail?: (failure: GatewayError, call: Call) => string
  /**
   * Called after `end` or `fail`: does what must precede the last frames, and yields them. Default:
   * `undefined`, nothing to do.
   */
  readonly last?: (() => AsyncIterable<string> | undefined) | undefined
  /** Returns what to send after a period of silence. Default: a comment. */
  readonly keepAlive?: () => string
}
