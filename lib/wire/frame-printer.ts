import type { Call } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'

/** Prints the frames of one streamed answer. */
export interface FramePrinter<E> {
  /** Returns the frames of a batch, or the empty text. */
  readonly print: (events: readonly E[]) => string
  /** Returns the last frames of an answer that is complete, with whatever ends the stream. */
  readonly end: () => string
  /**
   * Returns the last frames of an answer that broke off. Default: one message named `error`, as OpenAI's
   * clients read it.
   */
  readonly fail?: (failure: GatewayError, call: Call) => string
  /**
   * Called after `end` or `fail`: does what must be done before the last frames are sent, and yields them.
   * Returns `undefined` where there is nothing to do and nothing to yield, which is the default.
   */
  readonly last?: (() => AsyncIterable<string> | undefined) | undefined
  /** Returns what to send when there was nothing to send for a while. Default: a comment. */
  readonly keepAlive?: () => string
}
