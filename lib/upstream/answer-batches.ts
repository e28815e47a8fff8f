import type { Batch } from '../core/batch.ts'
import type { Route } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { OpenAttempt } from './open-attempt.ts'

export interface AnswerBatchesOptions<E> {
  readonly open: () => Promise<{ readonly route: Route, readonly answer: OpenAttempt<E> }>
  /** Notes that an answer broke off, and returns the error to throw. */
  readonly fail: (error: unknown, route: Route) => unknown
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** One answer, read by read: at least one batch. Written by hand as the iterators of `core/stage` are. */
export class AnswerBatches<R, E> implements AsyncIterableIterator<Batch<R, E>, undefined> {
  readonly #call: RoutedCall<R>
  readonly #options: AnswerBatchesOptions<E>
  #open: { readonly route: Route, readonly answer: OpenAttempt<E> } | undefined
  #begun = false
  #ended = false

  constructor (call: RoutedCall<R>, options: AnswerBatchesOptions<E>) {
    this.#call = call
    this.#options = options
  }

  async next (): Promise<IteratorResult<Batch<R, E>, undefined>> {
    if (this.#ended) return done
    const { route, answer } = this.#open ??= await this.#options.open()
    try {
      for (;;) {
        const events = await answer.next()
        if (events === undefined) break
        if (events.length === 0 && this.#begun) continue
        this.#begun = true
        return { done: false, value: { call: this.#call, route, events } }
      }
    } catch (error) {
      this.#end()
      throw this.#options.fail(error, route)
    }
    this.#end()
    return done
  }

  async return (): Promise<IteratorResult<Batch<R, E>, undefined>> {
    this.#end()
    return done
  }

  #end (): void {
    this.#ended = true
    this.#open?.answer.close()
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}
