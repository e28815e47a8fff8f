import type { Batch } from '../core/batch.ts'
import type { PullResult, PullSource } from '../core/flow.ts'
import type { Route } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { OpenAttempt } from './open-attempt.ts'

interface RouteAnswer<E> {
  readonly route: Route
  readonly answer: OpenAttempt<E>
}

export interface AnswerBatchesOptions<E> {
  readonly open: () => Promise<RouteAnswer<E>>
  /** Notes that an answer broke off, and returns the error to throw. */
  readonly fail: (error: unknown, route: Route) => unknown
}

type GivenBatch<R, E> = PullResult<Batch<R, E>>

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** One answer, read by read: at least one batch. It waits only where the answer does. */
export class AnswerBatches<R, E> implements AsyncIterableIterator<Batch<R, E>, undefined>, PullSource<Batch<R, E>> {
  readonly #call: RoutedCall<R>
  readonly #options: AnswerBatchesOptions<E>
  #open: RouteAnswer<E> | undefined
  #begun = false
  #ended = false

  constructor (call: RoutedCall<R>, options: AnswerBatchesOptions<E>) {
    this.#call = call
    this.#options = options
  }

  get isRead (): boolean {
    return this.#ended || this.#open?.answer.isRead === true
  }

  pull (): GivenBatch<R, E> | Promise<GivenBatch<R, E>> {
    if (this.#ended) return done
    if (this.#open !== undefined) return this.#read(this.#open)
    return this.#options.open().then(open => {
      if (this.#ended) {
        open.answer.close()
        return done
      }
      this.#open = open
      return this.#read(open)
    })
  }

  whenReady (go: () => void): boolean {
    return !this.#ended && this.#open?.answer.whenReady?.(go) === true
  }

  pause (): void {
    this.#open?.answer.pause?.()
  }

  async next (): Promise<GivenBatch<R, E>> {
    return await this.pull()
  }

  async return (): Promise<GivenBatch<R, E>> {
    this.#end()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  #read (open: RouteAnswer<E>): GivenBatch<R, E> | Promise<GivenBatch<R, E>> {
    for (;;) {
      let events: ReturnType<OpenAttempt<E>['next']>
      try {
        events = open.answer.next()
      } catch (error) {
        return this.#fail(error, open)
      }
      if (events instanceof Promise) {
        return events.then(there => this.#give(there, open) ?? this.#read(open), error => this.#fail(error, open))
      }
      const given = this.#give(events, open)
      if (given !== undefined) return given
    }
  }

  /** Returns a batch of the events; `undefined` for none of them after the first. */
  #give (events: E[] | undefined, { route }: RouteAnswer<E>): GivenBatch<R, E> | undefined {
    if (events === undefined) {
      this.#end()
      return done
    }
    if (events.length === 0 && this.#begun) return undefined
    this.#begun = true
    return { done: false, value: { call: this.#call, route, events } }
  }

  #fail (error: unknown, { route }: RouteAnswer<E>): never {
    this.#end()
    throw this.#options.fail(error, route)
  }

  #end (): void {
    this.#ended = true
    const open = this.#open
    this.#open = undefined // closed once: what is read on after the caller has left begins there
    open?.answer.close()
  }
}
