import type { Call } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'

/** Puts what is printed of events together: text, as long as all of it is. */
export function printAll<E> (events: readonly E[], print: (event: E) => string | Uint8Array): string | Uint8Array {
  let text = ''
  let pieces: Uint8Array[] | undefined
  for (const event of events) {
    const frames = print(event)
    if (typeof frames === 'string') {
      text += frames
    } else if (events.length === 1) {
      return frames
    } else {
      pieces ??= []
      pieces.push(Buffer.from(text), frames)
      text = ''
    }
  }
  return pieces === undefined ? text : Buffer.concat([...pieces, Buffer.from(text)])
}

/**
 * Prints the frames of one streamed answer.
 *
 * @typeParam F text, or text and UTF-8
 */
export interface FramePrinter<E, F extends string | Uint8Array = string> {
  /** Returns the frames of a batch, or the empty text. */
  readonly print: (events: readonly E[]) => F
  /** Returns the last frames of an answer that is complete, with whatever ends the stream. */
  readonly end: () => string
  /** Returns the last frames of an answer that broke off. Default: one message named `error`, as OpenAI's clients read it. */
  readonly fail?: (failure: GatewayError, call: Call) => string
  /**
   * Called after `end` or `fail`: does what must be done before the last frames are sent, and yields them. Returns `undefined` where
   * there is nothing to do and nothing to yield. Default: that.
   */
  readonly last?: (() => AsyncIterable<string> | undefined) | undefined
  /** Returns what to send when there was nothing to send for a while. Default: a comment. */
  readonly keepAlive?: () => string
}
