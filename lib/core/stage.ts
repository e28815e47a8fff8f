/**
 * The two shapes a pipeline is made of.
 *
 * A stage is built once, at start-up, from what it depends on; what belongs to one call lives
 * inside the generator it returns:
 *
 * ```ts
 * const shout = (): Stage<string> => async function * (source) {
 *   for await (const text of source) yield text.toUpperCase()
 * }
 * ```
 */

/** Takes a source, returns a source. Leaving early returns the source it was given. */
export type Stage<In, Out = In> = (source: AsyncIterable<In>) => AsyncIterable<Out>

/** Takes a source, returns one value: the end of a pipeline. */
export type Sink<In, Out> = (source: AsyncIterable<In>) => Promise<Out>

/**
 * A source of exactly one value: how a call enters its pipeline.
 *
 * This and the two stages below are iterators written by hand. A pipeline has many of them in a row
 * for a single value, where a generator each would cost half of all its time.
 */
export function once<T> (value: T): AsyncIterable<T> {
  return new Once(value)
}

/**
 * Makes a stage of a pure step on one call: `perCall(resolvePrompt)`. Such stages in a row are one
 * iterator that takes all their steps.
 *
 * @throws whatever `step` throws; before the provider is called that is an HTTP error.
 */
export function map<In, Out> (step: (call: In) => Out | Promise<Out>): Stage<In, Out> {
  return source => source instanceof PerCall
    ? source.and(step)
    : new PerCall(source[Symbol.asyncIterator](), [step as Step])
}

/**
 * Makes a stage that answers each value with a source of its own, one after the other: what
 * `yield *` does in a generator, without its detour for every value.
 */
export function flatMap<In, Out> (open: (call: In) => AsyncIterable<Out>): Stage<In, Out> {
  return source => new PerCallSource(source[Symbol.asyncIterator](), open)
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

class Once<T> implements AsyncIterableIterator<T, undefined> {
  readonly #value: T
  #given = false

  constructor (value: T) {
    this.#value = value
  }

  async next (): Promise<IteratorResult<T, undefined>> {
    if (this.#given) return done
    this.#given = true
    return { done: false, value: this.#value }
  }

  async return (): Promise<IteratorResult<T, undefined>> {
    this.#given = true
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}

/** What a step takes is what the one before it gives: `perCall` sees to that. */
type Step = (value: unknown) => unknown

class PerCall<Out> implements AsyncIterableIterator<Out, undefined> {
  readonly #source: AsyncIterator<unknown>
  readonly #steps: readonly Step[]

  constructor (source: AsyncIterator<unknown>, steps: readonly Step[]) {
    this.#source = source
    this.#steps = steps
  }

  and<Next> (step: (value: Out) => Next | Promise<Next>): PerCall<Next> {
    return new PerCall(this.#source, [...this.#steps, step as Step])
  }

  async next (): Promise<IteratorResult<Out, undefined>> {
    const given = await this.#source.next()
    if (given.done === true) return done
    try {
      let { value } = given
      for (const step of this.#steps) {
        value = step(value)
        if (value instanceof Promise) value = await value
      }
      return { done: false, value: value as Out }
    } catch (error) {
      await this.return()
      throw error
    }
  }

  async return (): Promise<IteratorResult<Out, undefined>> {
    await this.#source.return?.()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}

class PerCallSource<In, Out> implements AsyncIterableIterator<Out, undefined> {
  readonly #source: AsyncIterator<In>
  readonly #open: (call: In) => AsyncIterable<Out>
  #inner: AsyncIterator<Out> | undefined

  constructor (source: AsyncIterator<In>, open: (call: In) => AsyncIterable<Out>) {
    this.#source = source
    this.#open = open
  }

  async next (): Promise<IteratorResult<Out, undefined>> {
    for (;;) {
      if (this.#inner !== undefined) {
        const given = await this.#inner.next()
        if (given.done !== true) return given
        this.#inner = undefined
      }
      const call = await this.#source.next()
      if (call.done === true) return done
      this.#inner = this.#open(call.value)[Symbol.asyncIterator]()
    }
  }

  async return (): Promise<IteratorResult<Out, undefined>> {
    await this.#inner?.return?.()
    await this.#source.return?.()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}
