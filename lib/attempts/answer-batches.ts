import { done } from '../pipeline/sources.ts'
import type { Route } from '../core/route.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import { recordAnswerEnd } from './route-attempt.ts'
import type { OpenResponse } from './open-response.ts'

export interface AnswerBatchesOptions<E> {
  readonly open: () => Promise<OpenResponse<E>>
  /** Notes that an answer broke off, and returns the error to throw. */
  readonly fail: (error: unknown, route: Route) => unknown
}

type Result<R, E> = IteratorResult<Batch<R, E>, undefined>

/**
 * One answer, read by read: at least one batch. A generator would stay suspended, with its promises, for as
 * long as a stream waits.
 */
export class AnswerBatches<R, E> implements AsyncIterableIterator<Batch<R, E>, undefined> {
  readonly #call: RoutedCall<R>
  readonly #options: AnswerBatchesOptions<E>
  /** Set while it is read. */
  #answer: OpenResponse<E> | undefined
  #begun = false
  #ended = false

  constructor (call: RoutedCall<R>, options: AnswerBatchesOptions<E>) {
    this.#call = call
    this.#options = options
  }

  next (): Promise<Result<R, E>> {
    if (this.#ended) return Promise.resolve(done)
    return this.#answer === undefined
      ? this.#begin()
      : this.#answer.next().then(this.#onEvents, this.#onFailure)
  }

  return (): Promise<Result<R, E>> {
    this.#end()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  async #begin (): Promise<Result<R, E>> {
    this.#answer = await this.#options.open()
    if (this.#ended) this.#end()
    return await this.next()
  }

  readonly #onEvents = (events: E[] | undefined): Result<R, E> | Promise<Result<R, E>> =>
    this.#resultOf(events) ?? this.#readOn()

  readonly #onFailure = (error: unknown): Result<R, E> => {
    const answer = this.#answer
    if (answer === undefined) return done // its reader has left
    this.#end()
    throw this.#options.fail(error, answer.route)
  }

  /** Reads until there is a batch. */
  async #readOn (): Promise<Result<R, E>> {
    for (;;) {
      let events: E[] | undefined
      try {
        events = await this.#answer?.next()
      } catch (error) {
        return this.#onFailure(error)
      }
      const result = this.#resultOf(events)
      if (result !== undefined) return result
    }
  }

  /** Returns a batch of the events; `undefined` if there are none, except for the first batch. */
  #resultOf (events: E[] | undefined): Result<R, E> | undefined {
    const answer = this.#answer
    if (events === undefined || answer === undefined) {
      this.#end()
      return done
    }
    if (events.length === 0 && this.#begun) return undefined
    this.#begun = true
    // Closed before its reader sees it: a reader that refuses a complete answer abandons nothing.
    if (answer.isFinished()) this.#end()
    return { done: false, value: { call: this.#call, route: answer.route, events } }
  }

  #end (): void {
    this.#ended = true
    const answer = this.#answer
    this.#answer = undefined // closed once: an answer that is read on without its caller continues here
    if (answer === undefined) return
    recordAnswerEnd(this.#call, answer.route)
    answer.close()
    this.#call.record.usage.reported = answer.reported()
  }
}
