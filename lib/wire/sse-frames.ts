/**
 * Prints event streams: single messages, and the batches of an answer, with any kind of event. `sse-decoder`
 * reads them.
 */

import { asGatewayError, type GatewayError } from '../core/errors.ts'
import { noteError } from '../core/record.ts'
import type { AuthedCall, Batch, Call } from '../core/call.ts'
import { transform, type Stage } from '../pipeline/stage.ts'
import type { Transformer } from '../pipeline/fused-stages.ts'

/** Returns one unnamed message; `data` is a single line. */
export function sseData (data: string): string {
  return `data: ${data}\n\n`
}

/** A comment without a following blank line, which some clients take for an empty event. */
export const keepAliveComment = ': ping\n'

/** The final message that OpenAI's clients expect. */
export const endOfStream = sseData('[DONE]')

/** Splits a text printed here into messages, each with its terminator. */
export function splitFrames (text: string): string[] {
  return text.split('\n\n').slice(0, -1).map(frame => `${frame}\n\n`)
}

/** Returns one message with multi-line data, named or unnamed. */
export function sseFrame (event: string | undefined, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data
  return event === undefined ? sseData(lines) : sseEvent(event, lines)
}

/** Returns one named message; official clients throw on `error` and drop all other names. */
export function sseEvent (event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`
}

/** Some frames as a text, or as bytes where they are large. */
export type Frames = string | Uint8Array

/** Prints the frames of one streamed answer. */
export interface FramePrinter<E> {
  /** Returns the frames of a batch; may be empty. */
  readonly print: (events: readonly E[]) => string
  /**
   * Called when `print` returns an empty text: returns the frames of a batch that take too long to print in
   * one tick. Default: `undefined`, none.
   */
  readonly printLarge?: (() => Promise<Uint8Array> | undefined) | undefined
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
  readonly last?: (() => AsyncIterable<Frames> | undefined) | undefined
  /** Returns what to send after a period of silence. Default: a comment. */
  readonly keepAlive?: () => string
}

/**
 * Prints batches as frames. The last frame waits until the call is recorded, because the caller may take it
 * for the end of the answer. An error after the first batch becomes the last message; an earlier one is
 * thrown, so that it can become a status. After the caller has left, the text just ends.
 *
 * @param printerOf creates the printer of an answer from its first batch
 */
export function sseFrames<B extends Batch<unknown, unknown>> (
  printerOf: (first: B) => FramePrinter<B['events'][number]>
): Stage<B, Frames> {
  return transform<B, Frames>(() => new EventStream(printerOf))
}

class EventStream<B extends Batch<unknown, unknown>> implements Transformer<B, Frames> {
  readonly #printerOf: (first: B) => FramePrinter<B['events'][number]>
  #printer: FramePrinter<B['events'][number]> | undefined
  #call: AuthedCall | undefined
  #end: string | undefined

  constructor (printerOf: (first: B) => FramePrinter<B['events'][number]>) {
    this.#printerOf = printerOf
  }

  push (batch: B): string | Promise<Uint8Array> | undefined {
    this.#call = batch.call
    this.#printer ??= this.#printerOf(batch)
    const text = this.#printer.print(batch.events)
    return text === '' ? this.#printer.printLarge?.() : text
  }

  end (): undefined {
    try {
      this.#end = this.#printer?.end()
    } catch (error) {
      this.fail(error)
    }
  }

  fail (error: unknown): undefined {
    const call = this.#call
    if (call === undefined || this.#printer === undefined) throw error
    const failure = asGatewayError(error)
    // The abort reason says more than the resulting stream error.
    const outcome = noteError(call.record.end, call.signal.aborted ? call.signal.reason : failure)
    if (outcome !== 'error') return
    this.#end = this.#printer.fail?.(failure, call) ?? errorFrame(failure)
  }

  /** Yields the final frames, each once the next one exists; the last waits for the record. */
  async * last (): AsyncGenerator<Frames> {
    let frame: Frames = this.#end ?? ''
    for await (const next of this.#printer?.last?.() ?? []) {
      if (frame !== '') yield frame
      frame = next
    }
    await this.#call?.journalAnswer?.(this.#call)
    if (frame !== '') yield frame
  }
}

/** Returns the last message of an interrupted answer, as OpenAI's clients expect. */
export function errorFrame (failure: GatewayError): string {
  return sseEvent('error', JSON.stringify(failure.toBody()))
}
