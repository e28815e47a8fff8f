/**
 * Batches to the text of an event stream: what every streamed answer has in common, whatever its
 * events are and however they are printed.
 */

import { asGatewayError } from '../core/errors.ts'
import { noteError } from '../core/record.ts'
import { sseData, sseEvent } from '../wire/sse.ts'
import type { Batch } from '../core/batch.ts'
import type { Call } from '../core/call.ts'
import type { Stage } from '../core/stage.ts'

/** Prints the frames of one answer. */
export interface FramePrinter<E> {
  /** The frames of a batch, or the empty text. */
  readonly print: (events: readonly E[]) => string
  /** What is left to say before `[DONE]`. */
  readonly end: () => string
}

/**
 * Ends with `[DONE]`. An error after the first batch is written as the last message, named
 * `error`, and nothing follows it; an error before is thrown, so that it can be a status. When
 * the caller has gone the text just ends.
 *
 * @param printerOf makes the printer of an answer, given its first batch
 */
export function sseFrames<R, E> (printerOf: (first: Batch<R, E>) => FramePrinter<E>): Stage<Batch<R, E>, string> {
  return async function * (source) {
    let printer: FramePrinter<E> | undefined
    let call: Call | undefined
    try {
      for await (const batch of source) {
        call = batch.call
        printer ??= printerOf(batch)
        const text = printer.print(batch.events)
        if (text !== '') yield text
      }
      if (printer !== undefined) yield printer.end() + sseData('[DONE]')
    } catch (error) {
      if (call === undefined || printer === undefined) throw error
      const failure = asGatewayError(error)
      // Why the call was ended says more than what broke off because of it.
      const outcome = noteError(call.record, call.signal.aborted ? call.signal.reason : failure)
      if (outcome === 'client_closed') return
      yield sseEvent('error', JSON.stringify(failure.toBody()))
    }
  }
}
