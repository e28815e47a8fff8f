/**
 * Wraps an answer that a guard may refuse, so that it can be closed while its provider is silent.
 */

import { CallCancellation } from '../async/cancellation.ts'
import { extend, type Batch, type RoutedCall } from '../core/call.ts'
import { once } from '../pipeline/sources.ts'
import type { Stage } from '../pipeline/stage.ts'

/** The end of an answer, or why it failed. */
export type AnswerEnd =
  | { readonly batch: undefined }
  | { readonly batch: undefined, readonly error: unknown }

export type AnswerStep<R, E> = { readonly batch: Batch<R, E> } | AnswerEnd

export class RefusableAnswer<R, E> {
  readonly #callSignal: RoutedCall<R>['signal']
  readonly #signal = new CallCancellation()
  readonly #batches: AsyncIterator<Batch<R, E>>
  #reading: Promise<AnswerStep<R, E>> | undefined

  constructor (call: RoutedCall<R>, answer: Stage<RoutedCall<R>, Batch<R, E>>) {
    this.#callSignal = call.signal
    if (call.signal.aborted) this.#follow()
    else call.signal.addEventListener('abort', this.#follow, { once: true })
    this.#batches = answer(once(extend(call, { signal: this.#signal })))[Symbol.asyncIterator]()
  }

  readonly #follow = (): void => this.#signal.abort(this.#callSignal.reason)

  /** Reads the next batch. The promise never rejects, since it may be awaited only later. */
  read (): Promise<AnswerStep<R, E>> {
    return (this.#reading = this.#batches.next().then(asStep, asEnd))
  }

  /** Aborts the request to the provider. */
  giveUp (reason: unknown): void {
    this.#signal.abort(reason)
  }

  /**
   * Closes the answer after the pending read. If the answer is to be read on without its caller, someone else
   * does that. Until then the call may still end, and the request with it.
   */
  async close (): Promise<void> {
    try {
      await this.#reading
      await this.#batches.return?.()
    } finally {
      this.#callSignal.removeEventListener('abort', this.#follow)
    }
  }
}

function asStep<R, E> ({ done, value }: IteratorResult<Batch<R, E>, unknown>): AnswerStep<R, E> {
  return done === true ? { batch: undefined } : { batch: value }
}

function asEnd (error: unknown): AnswerEnd {
  return { batch: undefined, error }
}
