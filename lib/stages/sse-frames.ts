/** Turns batches into the frames of an event stream, whatever their events are and however they are printed. */

import { asGatewayError } from '../core/errors.ts'
import { noteError } from '../core/record.ts'
import { sseEvent } from '../wire/sse.ts'
import type { Batch } from '../core/batch.ts'
import type { Call } from '../core/call.ts'
import type { FramePrinter } from '../wire/frame-printer.ts'
import { transform, type Stage, type Transformer } from '../pipeline/stage.ts'

/**
 * Ends as the printer says. An error after the first batch is written as the last message, and nothing
 * follows it; an error before is thrown, so that it can be a status. When the caller has gone the text
 * just ends.
 *
 * @param printerOf makes the printer of an answer, given its first batch
 */
export function sseFrames<B extends Batch<unknown, unknown>> (
  printerOf: (first: B) => FramePrinter<B['events'][number]>
): Stage<B, string> {
  return transform<B, string>(() => new EventStream(printerOf))
}

class EventStream<B extends Batch<unknown, unknown>> implements Transformer<B, string> {
  readonly #printerOf: (first: B) => FramePrinter<B['events'][number]>
  #printer: FramePrinter<B['events'][number]> | undefined
  #call: Call | undefined

  constructor (printerOf: (first: B) => FramePrinter<B['events'][number]>) {
    this.#printerOf = printerOf
  }

  push (batch: B): string | undefined {
    this.#call = batch.call
    this.#printer ??= this.#printerOf(batch)
    const text = this.#printer.print(batch.events)
    return text === '' ? undefined : text
  }

  end (): string | undefined {
    try {
      return this.#printer?.end()
    } catch (error) {
      return this.fail(error)
    }
  }

  fail (error: unknown): string | undefined {
    const call = this.#call
    if (call === undefined || this.#printer === undefined) throw error
    const failure = asGatewayError(error)
    // The reason why the call was aborted says more than the error of its stream.
    const outcome = noteError(call.record, call.signal.aborted ? call.signal.reason : failure)
    if (outcome === 'client_closed') return undefined
    return this.#printer.fail?.(failure, call) ?? sseEvent('error', JSON.stringify(failure.toBody()))
  }
}
