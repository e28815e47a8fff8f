/** Answers that guards may still refuse: because of the request, or of the answer itself. */

import { CallCancellation } from '../async/cancellation.ts'
import { copyCall, type Batch, type RoutedCall } from '../core/call.ts'
import { once } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'

/**
 * Starts the answer immediately, and passes its batches on when `call.requestAccepted` resolves. If it
 * rejects, the request to the provider is aborted.
 *
 * @throws the reason of the rejection, before the first batch; otherwise what `answer` throws
 */
export function afterVerdict<R, E> (
  answer: Stage<RoutedCall<R>, Batch<R, E>>
): Stage<RoutedCall<R>, Batch<R, E>> {
  return flatMap(call =>
    call.requestAccepted === undefined ? answer(once(call)) : heldBack(call, call.requestAccepted, answer)
  )
}

async function* heldBack<R, E> (
  call: RoutedCall<R>,
  verdict: Promise<void>,
  answerStage: Stage<RoutedCall<R>, Batch<R, E>>
): AsyncGenerator<Batch<R, E>, void, undefined> {
  const answer = new RefusableAnswer(call, answerStage)
  const first = answer.read()
  try {
    await verdict
    let step = await first
    for (; step.batch !== undefined; step = await answer.read()) yield step.batch
    if ('error' in step) throw step.error
  } catch (error) {
    answer.giveUp(error)
    throw error
  } finally {
    await answer.close()
  }
}

/** The end of an answer, or why it failed. */
export type AnswerEnd =
  | { readonly batch: undefined }
  | { readonly batch: undefined, readonly error: unknown }

export type AnswerStep<R, E> = { readonly batch: Batch<R, E> } | AnswerEnd

/** An answer that a guard may refuse: it can be closed while its provider is silent. */
export class RefusableAnswer<R, E> {
  readonly #callSignal: RoutedCall<R>['signal']
  readonly #signal = new CallCancellation()
  readonly #batches: AsyncIterator<Batch<R, E>>
  #reading: Promise<AnswerStep<R, E>> | undefined

  constructor (call: RoutedCall<R>, answer: Stage<RoutedCall<R>, Batch<R, E>>) {
    this.#callSignal = call.signal
    if (call.signal.aborted) this.#follow()
    else call.signal.addEventListener('abort', this.#follow, { once: true })
    this.#batches = answer(once(copyCall(call, { signal: this.#signal })))[Symbol.asyncIterator]()
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
