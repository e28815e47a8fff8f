import { done } from './sources.ts'

/** The state of a stage over one source. */
export interface Transformer<In, Out> {
  /** Returns the output for a value, or `undefined` for none. Only promises are awaited. */
  readonly push: (value: In) => Out | undefined | Promise<Out | undefined>
  /** Returns a last value once the source has ended, or `undefined` for none. */
  readonly end?: () => Out | undefined
  /**
   * Returns a last value of a failed source, or `undefined` for none.
   *
   * @throws the source's error or another one, to fail like the source
   */
  readonly fail?: (error: unknown) => Out | undefined
  /** Yields what follows the value of `end` or `fail`, where that must be awaited. */
  readonly last?: () => AsyncIterable<Out>
}

type AnyTransformer = Transformer<unknown, unknown>

/** The functions of adjacent stages, in the order in which they run. */
export interface StageFunctions {
  /** Steps on one value. Only promises are awaited. */
  readonly steps: ReadonlyArray<(value: unknown) => unknown>
  /** Returns the source of a value. Absent: values are read as they are. */
  readonly open?: ((value: unknown) => AsyncIterable<unknown>) | undefined
  /** Create the transformers of one source. */
  readonly createTransformers: ReadonlyArray<() => AnyTransformer>
}

type Result<T> = IteratorResult<T, undefined>
/** What became of a value: the output, an error, or nothing. */
type Pushed<T> = IteratorYieldResult<T> | Failure | undefined

/**
 * Reads a source through the functions of adjacent stages: steps on each value, a source for each value, and
 * transformers of that source's values. Call `next` only after the previous call has settled.
 *
 * A waiting stream holds one promise for each iterator between the socket and its caller, allocated again for
 * every event. With thousands of streams, memory and latency depend on their number rather than on the number
 * of stages. The waiting path is therefore a single `then`; code that runs once per call is written plainly.
 */
export class FusedStages<Out> implements AsyncIterableIterator<Out, undefined> {
  readonly #source: AsyncIterator<unknown>
  readonly #functions: StageFunctions
  readonly #transformers: readonly AnyTransformer[]
  /** The current source: that of the current value, or `#source` where values are read as they are. */
  #inner: AsyncIterator<unknown> | undefined
  /** The last values; set once the source has ended or failed. */
  #rest: AsyncIterator<Out, undefined> | undefined
  #hasLeft = false

  constructor (source: AsyncIterable<unknown>, functions: StageFunctions) {
    this.#source = source[Symbol.asyncIterator]()
    this.#functions = functions
    this.#transformers = functions.createTransformers.map(begin => begin())
    if (functions.open === undefined && functions.steps.length === 0) this.#inner = this.#source
  }

  next (): Promise<Result<Out>> {
    if (this.#rest !== undefined) return this.#rest.next()
    if (this.#hasLeft) return Promise.resolve(done)
    return this.#inner === undefined
      ? this.#advance()
      : this.#inner.next().then(this.#onResult, this.#onFailure)
  }

  /** Calls `return()` of the sources immediately, even during a pending read. */
  async return (): Promise<Result<Out>> {
    this.#hasLeft = true
    await (this.#rest === undefined ? this.#close() : this.#rest.return?.())
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  readonly #onResult = (result: IteratorResult<unknown>): Result<Out> | Promise<Result<Out>> => {
    const out = this.#take(result)
    return out instanceof Promise ? out.then(out => out ?? this.#advance()) : out ?? this.#advance()
  }

  readonly #onFailure = async (error: unknown): Promise<Result<Out>> =>
    await this.#end(new Failure(error, 0))

  /** Reads until there is a value. */
  async #advance (): Promise<Result<Out>> {
    for (;;) {
      let result: IteratorResult<unknown> | undefined
      try {
        result = await (this.#inner === undefined ? this.#openNext() : this.#inner.next())
      } catch (error) {
        return await this.#end(new Failure(error, 0))
      }
      const taken = result && this.#take(result)
      const out = taken instanceof Promise ? await taken : taken
      if (out !== undefined) return out
    }
  }

  /**
   * Takes the next value of the source through the steps. Returns the result; `undefined` if the result now
   * has its own source.
   */
  async #openNext (): Promise<IteratorResult<unknown> | undefined> {
    const result = await this.#source.next()
    if (result.done === true || this.#hasLeft) return done
    let { value } = result
    for (const step of this.#functions.steps) {
      value = step(value)
      if (value instanceof Promise) value = await value
      if (this.#hasLeft) return done
    }
    if (this.#functions.open === undefined) return { done: false, value }
    this.#inner = this.#functions.open(value)[Symbol.asyncIterator]()
    return undefined
  }

  /** Takes a read value through the transformers; `undefined` for no output. */
  #take (result: IteratorResult<unknown>): Result<Out> | Promise<Result<Out> | undefined> | undefined {
    if (this.#hasLeft) return done
    if (result.done === true) {
      if (this.#inner === undefined || this.#inner === this.#source) return this.#end()
      this.#inner = undefined
      return undefined
    }
    const out = this.#push(result.value, 0)
    return out instanceof Promise ? out.then(this.#onPushed) : this.#onPushed(out)
  }

  readonly #onPushed = (out: Pushed<Out>): Result<Out> | Promise<Result<Out>> | undefined =>
    out instanceof Failure ? this.#end(out) : out

  /** Takes a value through the transformers from an index on; `undefined` for no output. */
  #push (value: unknown, from: number): Pushed<Out> | Promise<Pushed<Out>> {
    let out = value
    for (let at = from; at < this.#transformers.length; at++) {
      try {
        out = this.#transformers[at]?.push(out)
      } catch (error) {
        return new Failure(error, at)
      }
      if (out instanceof Promise) return this.#pushAwaited(out, at)
      if (out === undefined) return undefined
    }
    return { done: false, value: out as Out } // the type of the last one's output
  }

  /** @param at the index of the transformer whose output is awaited */
  async #pushAwaited (output: Promise<unknown>, at: number): Promise<Pushed<Out>> {
    try {
      const out = await output
      return out === undefined ? undefined : await this.#push(out, at + 1)
    } catch (error) {
      return new Failure(error, at)
    }
  }

  /** Ends the transformers, with or without an error. Returns the first of their last values. */
  async #end (failure?: Failure): Promise<Result<Out>> {
    if (this.#hasLeft) return done
    this.#rest = this.#lastValues(failure)
    if (failure !== undefined) await this.#close()
    return await this.#rest.next()
  }

  /**
   * Yields the last values of each transformer, taken through those after it. Transformers before the one
   * that handles an error are not ended, since their output is no longer read.
   */
  async * #lastValues (first: Failure | undefined): AsyncGenerator<Out, undefined> {
    let failure = first
    for (let at = first?.at ?? 0; at < this.#transformers.length; at = failure?.at ?? at + 1) {
      const values = lastValues(this.#transformers[at] as AnyTransformer, failure) // `at` is below the length
      failure = undefined
      try {
        for await (const value of values) {
          const result = value === undefined ? undefined : await this.#push(value, at + 1)
          if (result instanceof Failure) {
            failure = result
            break
          }
          if (result !== undefined) yield result.value
        }
      } catch (error) {
        failure = new Failure(error, at + 1)
      }
    }
    if (failure !== undefined) throw failure.error
  }

  async #close (): Promise<void> {
    const inner = this.#inner === this.#source ? undefined : this.#inner
    await Promise.all([inner?.return?.(), this.#source.return?.()])
  }
}

/** An error of the source or of a transformer. Not an `Error`, which would capture a stack. */
class Failure {
  readonly error: unknown
  /** The index of the transformer that handles it: the one whose `push` threw, otherwise the next one. */
  readonly at: number

  constructor (error: unknown, at: number) {
    this.error = error
    this.at = at
  }
}

/**
 * Yields the values of a transformer after its source has ended or failed.
 *
 * @throws an error that it does not handle, or its own
 */
async function * lastValues (
  transformer: AnyTransformer,
  failure: Failure | undefined
): AsyncGenerator<unknown, undefined> {
  if (failure !== undefined && transformer.fail === undefined) throw failure.error
  yield failure === undefined ? transformer.end?.() : transformer.fail?.(failure.error)
  if (transformer.last !== undefined) yield * transformer.last()
}
