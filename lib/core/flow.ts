/**
 * A flow: a source that holds one call and the functions that its stages added, so that a pipeline needs no iterator for
 * each stage.
 *
 * A call is one value, and what comes out of it has one source: its answer. Stages made by `map`, `flatMap` and
 * `transform` that are given a flow therefore add their function to it instead of wrapping it: steps are called in a
 * row, the source is read, and each value it gives is pushed through the transformers. Nothing here waits for what is
 * there already: `pull` gives a promise only where a step or the source gave one. A chat call in one piece takes 152 µs of
 * CPU time this way and 164 with an iterator for each stage (32 callers, the bare pipe 58, slices of both alternately; a
 * stream of 8 events per write costs the same either way). `bench:compare` has the lane.
 *
 * Any other stage reads a flow as it reads every source, so both kinds stand in one list.
 */

import { withLast } from './with-last.ts'

export type PullResult<T> = IteratorResult<T, undefined>

/** An iterator that says without a promise what it knows already. */
export interface PullSource<T> extends AsyncIterator<T, undefined> {
  /** Does what `next` does. Not before the last one is settled. */
  readonly pull: () => PullResult<T> | Promise<PullResult<T>>
  /** True once it is known that nothing follows. */
  readonly hasEnded?: boolean
  /** True once nothing is left to be read: what `pull` still gives is there. */
  readonly isRead?: boolean
  /**
   * Calls `go` once there is something to pull, never before it has returned, or returns false where only `pull` knows.
   *
   * A function and no promise, the same one for each read: with 9,800 open streams each scavenge would copy a promise for each, and what
   * waits for it.
   *
   * @param go must not throw
   */
  readonly whenReady?: (go: () => void) => boolean
  /** Stops reading until the next `pull` or `whenReady`: for a reader that cannot take more for now. Not while one of them waits. */
  readonly pause?: () => void
}

/** Keeps the state of one run of a stage. */
export interface Transformer<In, Out> {
  /** Returns the value for this one, or `undefined` for none. */
  readonly push: (value: In) => Out | undefined
  /** Returns the last value once the source has ended, or `undefined` for none. */
  readonly end?: () => Out | undefined
  /**
   * Returns the last value of a source that failed, or `undefined` for none.
   * @throws the error, or another, to fail as the source did
   */
  readonly fail?: (error: unknown) => Out | undefined
}

/** A function of one value. A promise is awaited, anything else is not. */
export type Step = (value: unknown) => unknown
export type Open = (value: unknown) => AsyncIterable<unknown>
type AnyTransformer = Transformer<unknown, unknown>

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Reads a source step by step; where a value waits for nothing, neither does the reader. */
export function pulling<T> (source: AsyncIterable<T>): PullSource<T> {
  const iterator: AsyncIterator<T, undefined> & Partial<PullSource<T>> = source[Symbol.asyncIterator]()
  if (iterator.pull !== undefined) return iterator as PullSource<T> // the other members are there in any case
  return {
    next: async () => await iterator.next(),
    pull: async () => await iterator.next(),
    ...iterator.return !== undefined && { return: async value => await (iterator.return?.(value) ?? done) }
  }
}

export class Flow<Out> implements AsyncIterableIterator<Out, undefined>, PullSource<Out> {
  #value: unknown
  #steps: readonly Step[] = []
  #open: Open | undefined
  #transformers: AnyTransformer[] = []
  #source: PullSource<unknown> | undefined
  #begun = false
  /** A value that was read and put back, and the first transformer that has not seen it. */
  #unread: { readonly value: unknown, readonly from: number } | undefined
  /** The first transformer that has not ended; set once the source has. */
  #ending: number | undefined
  #ended = false

  constructor (value: unknown) {
    this.#value = value
  }

  get hasEnded (): boolean {
    return this.#ended && this.#unread === undefined
  }

  get isRead (): boolean {
    return this.#ended || this.#ending !== undefined || this.#source?.isRead === true
  }

  /** Adds steps; `undefined` once a source or a transformer was added. */
  mapped<T> (steps: readonly Step[]): Flow<T> | undefined {
    if (this.#open !== undefined || this.#transformers.length > 0 || this.#begun) return undefined
    this.#steps = this.#steps.length === 0 ? steps : [...this.#steps, ...steps]
    return this as unknown as Flow<T> // of what the last step gives
  }

  /** Adds the source of the value; `undefined` when there is one already. */
  opened<T> (open: Open): Flow<T> | undefined {
    if (this.#open !== undefined || this.#transformers.length > 0 || this.#begun) return undefined
    this.#open = open
    return this as unknown as Flow<T> // of what the source gives
  }

  /** Adds a transformer behind those there are. */
  through<T> (transformer: Transformer<Out, T>): Flow<T> | undefined {
    if (this.#ended || this.#ending !== undefined) return undefined
    // It is given what the one before it gives.
    this.#transformers = withLast(this.#transformers, transformer as unknown as AnyTransformer)
    return this as unknown as Flow<T>
  }

  /** Puts back the value that was read last. */
  unread (value: Out): this {
    this.#unread = { value, from: this.#transformers.length }
    return this
  }

  /** @throws what a stage throws; or rejects with it */
  pull (): PullResult<Out> | Promise<PullResult<Out>> {
    if (this.#unread !== undefined) {
      const { value, from } = this.#unread
      this.#unread = undefined
      return this.#push(value, from) ?? this.pull()
    }
    if (this.#ended) return done
    if (this.#ending !== undefined) return this.#end(this.#ending)
    return this.#begun ? this.#read() : this.#begin()
  }

  whenReady (go: () => void): boolean {
    return this.#unread === undefined && !this.#ended && this.#ending === undefined && this.#source?.whenReady?.(go) === true
  }

  pause (): void {
    this.#source?.pause?.()
  }

  async next (): Promise<PullResult<Out>> {
    return await this.pull()
  }

  async return (): Promise<PullResult<Out>> {
    this.#ended = true
    this.#unread = undefined
    await this.#source?.return?.()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  #begin (): PullResult<Out> | Promise<PullResult<Out>> {
    this.#begun = true
    let value: unknown
    try {
      value = run(this.#steps, this.#value, 0)
    } catch (error) {
      return this.#fail(0, error)
    }
    this.#value = undefined
    return value instanceof Promise ? value.then(there => this.#start(there), (error: unknown) => this.#fail(0, error)) : this.#start(value)
  }

  #start (value: unknown): PullResult<Out> | Promise<PullResult<Out>> {
    if (this.#ended) return done
    if (this.#open === undefined) {
      this.#ending = 0
      return this.#push(value, 0) ?? this.#end(0)
    }
    let source: AsyncIterable<unknown>
    try {
      source = this.#open(value)
      this.#source = source instanceof Flow && source.#isWaiting ? undefined : pulling(source)
    } catch (error) {
      return this.#fail(0, error)
    }
    return this.#source === undefined ? this.#become(source as Flow<unknown>) : this.#read() // the one kind that is not read
  }

  /** True while nothing was read. */
  get #isWaiting (): boolean {
    return !this.#begun && !this.#ended && this.#unread === undefined
  }

  /** Goes the way of another flow and then its own: what comes out of the last value is all that does. */
  #become (inner: Flow<unknown>): PullResult<Out> | Promise<PullResult<Out>> {
    this.#value = inner.#value
    this.#steps = inner.#steps
    this.#open = inner.#open
    this.#transformers = this.#transformers.reduce(withLast, inner.#transformers)
    inner.#ended = true
    return this.#begin()
  }

  #read (): PullResult<Out> | Promise<PullResult<Out>> {
    const source = this.#source
    if (source === undefined) return done
    for (;;) {
      let result: PullResult<unknown> | Promise<PullResult<unknown>>
      try {
        result = source.pull()
      } catch (error) {
        return this.#fail(0, error)
      }
      if (result instanceof Promise) return result.then(there => this.#take(there) ?? this.#read(), (error: unknown) => this.#fail(0, error))
      const out = this.#take(result)
      if (out !== undefined) return out
    }
  }

  #take (result: PullResult<unknown>): PullResult<Out> | Promise<PullResult<Out>> | undefined {
    if (this.#ended) return done
    if (result.done === true) return this.#end(0)
    return this.#push(result.value, 0)
  }

  /** Pushes a value through the transformers from one of them on; `undefined` when one gives nothing for it. */
  #push (given: unknown, from: number): PullResult<Out> | Promise<PullResult<Out>> | undefined {
    let value = given
    for (let at = from; at < this.#transformers.length; at++) {
      try {
        value = this.#transformers[at]?.push(value)
      } catch (error) {
        return this.#broken(at, error)
      }
      if (value === undefined) return undefined
    }
    return { done: false, value: value as Out } // the last one gives it
  }

  /** Ends with the error of a transformer, which has the last word as of a source that failed. */
  #broken (at: number, error: unknown): PullResult<Out> | Promise<PullResult<Out>> {
    const returned = this.#ending === undefined ? this.#source?.return?.() : undefined
    return returned === undefined ? this.#fail(at, error) : Promise.resolve(returned).then(() => this.#fail(at, error))
  }

  /** Ends the transformers from one of them on, each with a last value if it has one. */
  #end (from: number): PullResult<Out> | Promise<PullResult<Out>> {
    for (let at = from; at < this.#transformers.length; at++) {
      let value: unknown
      this.#ending = at + 1
      try {
        value = this.#transformers[at]?.end?.()
      } catch (error) {
        return this.#fail(at + 1, error)
      }
      const out = value === undefined ? undefined : this.#push(value, at + 1)
      if (out === undefined) continue
      this.#ended = this.#ending === this.#transformers.length
      return out
    }
    this.#ended = true
    return done
  }

  /** Gives the error to the transformers from one of them on, until one has a last value or none instead of it. */
  #fail (from: number, thrown: unknown): PullResult<Out> | Promise<PullResult<Out>> {
    let error = thrown
    for (let at = from; at < this.#transformers.length; at++) {
      const transformer = this.#transformers[at]
      if (transformer?.fail === undefined) continue
      this.#ending = at + 1
      let value: unknown
      try {
        value = transformer.fail(error)
      } catch (another) {
        error = another
        continue
      }
      return (value === undefined ? undefined : this.#push(value, at + 1)) ?? this.#end(at + 1)
    }
    this.#ended = true
    throw error
  }
}

/** Calls steps in a row; what follows a promise is called when it is there. */
function run (steps: readonly Step[], given: unknown, from: number): unknown {
  let value = given
  for (let at = from; at < steps.length; at++) {
    value = steps[at]?.(value)
    if (value instanceof Promise) return at + 1 === steps.length ? value : value.then(there => run(steps, there, at + 1))
  }
  return value
}
