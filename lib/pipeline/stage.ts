/**
 * The two shapes a pipeline is made of, and the three ways to make a stage.
 *
 * A stage is created once, at start-up, from what it depends on; what belongs to one call lives
 * inside the iterator it returns. Any function from source to source is a stage:
 *
 * ```ts
 * const shout = (): Stage<string> => async function * (source) {
 *   for await (const text of source) yield text.toUpperCase()
 * }
 * ```
 *
 * One made by `map`, `flatMap` or `transform` also says how it was made (`recipeOf`), and adds its function to a
 * `Flow`, as `once` makes it, instead of wrapping it: a call costs one iterator, however many stages there are.
 */

import { Flow, type Open, type Step, type Transformer } from '../core/flow.ts'

export type { Transformer }

/** Takes a source, returns a source. Leaving early calls `return()` of its source. */
export type Stage<In, Out = In> = (source: AsyncIterable<In>) => AsyncIterable<Out>

/** A stage whose output has the type of its input. */
export type PassThroughStage<Bound> = <T extends Bound>(source: AsyncIterable<T>) => AsyncIterable<T>

/** Takes a source, returns one value: the end of a pipeline. */
export type Sink<In, Out> = (source: AsyncIterable<In>) => Promise<Out>

/** The parts of a stage: the functions it calls. */
export type Recipe =
  | { readonly kind: 'map', readonly steps: readonly Step[] }
  | { readonly kind: 'flatMap', readonly open: (value: never) => AsyncIterable<unknown> }
  | { readonly kind: 'transform', readonly begin: () => Transformer<never, unknown> }
  | { readonly kind: 'chain', readonly stages: ReadonlyArray<Stage<never, unknown>> }

/** Returns how a stage was made; `undefined` for one that was written by hand. */
export function recipeOf (stage: Stage<never, unknown>): Recipe | undefined {
  return (stage as { readonly recipe?: Recipe }).recipe // set by `made` and by no one else
}

export function made<In, Out> (stage: Stage<In, Out>, recipe: Recipe): Stage<In, Out> {
  return Object.assign(stage, { recipe })
}

/**
 * Makes a stage of a pure step on one value: `map(chatInput)`. One value in, one out.
 *
 * @throws whatever `step` throws; before the provider is called that is an HTTP error.
 */
export function map<In, Out> (step: (value: In) => Out | Promise<Out>): Stage<In, Out> {
  return mapAll([step as Step]) // it is given what its type says: the types of a pipeline see to that
}

export function mapAll<In, Out> (steps: readonly Step[]): Stage<In, Out> {
  return made(
    source => flowOf(source)?.mapped<Out>(steps) ?? new Mapped<Out>(source[Symbol.asyncIterator](), steps), { kind: 'map', steps }
  )
}

/**
 * Makes a stage that answers each value with a source of its own, one after the other: what
 * `yield *` does in a generator, without its detour for every value.
 */
export function flatMap<In, Out> (open: (value: In) => AsyncIterable<Out>): Stage<In, Out> {
  return made(
    // The values of a flow are of the type that the stage takes.
    source => flowOf(source)?.opened<Out>(open as Open) ?? new FlatMapped(source[Symbol.asyncIterator](), open), { kind: 'flatMap', open }
  )
}

/** Makes a stage of synchronous steps that share a state: at most one value out for each value in. */
export function transform<In, Out> (begin: () => Transformer<In, Out>): Stage<In, Out> {
  return made(
    source => flowOf(source)?.through(begin()) ?? new Transformed(source[Symbol.asyncIterator](), begin()), { kind: 'transform', begin }
  )
}

/** Returns a source of exactly one value: how a call enters its pipeline. */
export function once<T> (value: T): Flow<T> {
  return new Flow(value)
}

function flowOf<T> (source: AsyncIterable<T>): Flow<T> | undefined {
  return source instanceof Flow ? source as Flow<T> : undefined // its values have the type of the source
}

/*
 * The iterators of stages whose source is no flow. They are written by hand: a generator each would cost
 * twice as much.
 */

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

class Mapped<Out> implements AsyncIterableIterator<Out, undefined> {
  readonly #source: AsyncIterator<unknown>
  readonly #steps: readonly Step[]

  constructor (source: AsyncIterator<unknown>, steps: readonly Step[]) {
    this.#source = source
    this.#steps = steps
  }

  async next (): Promise<IteratorResult<Out, undefined>> {
    const result = await this.#source.next()
    if (result.done === true) return done
    try {
      let { value } = result
      for (const step of this.#steps) {
        value = step(value)
        if (value instanceof Promise) value = await value
      }
      return { done: false, value: value as Out } // the last step gives it
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

class FlatMapped<In, Out> implements AsyncIterableIterator<Out, undefined> {
  readonly #source: AsyncIterator<In>
  readonly #open: (value: In) => AsyncIterable<Out>
  #inner: AsyncIterator<Out> | undefined

  constructor (source: AsyncIterator<In>, open: (value: In) => AsyncIterable<Out>) {
    this.#source = source
    this.#open = open
  }

  async next (): Promise<IteratorResult<Out, undefined>> {
    for (;;) {
      const outer = this.#inner === undefined ? await this.#source.next() : undefined
      if (outer?.done === true) return done
      try {
        if (outer !== undefined) this.#inner = this.#open(outer.value)[Symbol.asyncIterator]()
        const result = await this.#inner?.next()
        if (result?.done === false) return result
        this.#inner = undefined
      } catch (error) {
        await this.#source.return?.()
        throw error
      }
    }
  }

  async return (): Promise<IteratorResult<Out, undefined>> {
    try {
      await this.#inner?.return?.()
    } finally {
      await this.#source.return?.()
    }
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}

class Transformed<In, Out> implements AsyncIterableIterator<Out, undefined> {
  readonly #source: AsyncIterator<In>
  readonly #transformer: Transformer<In, Out>
  #ended = false

  constructor (source: AsyncIterator<In>, transformer: Transformer<In, Out>) {
    this.#source = source
    this.#transformer = transformer
  }

  async next (): Promise<IteratorResult<Out, undefined>> {
    while (!this.#ended) {
      let result: IteratorResult<In>
      try {
        result = await this.#source.next()
      } catch (error) {
        return this.#last(this.#transformer.fail === undefined ? rethrow(error) : this.#transformer.fail(error))
      }
      if (result.done === true) return this.#last(this.#transformer.end?.())
      try {
        const value = this.#transformer.push(result.value)
        if (value !== undefined) return { done: false, value }
      } catch (error) {
        await this.return()
        return this.#last(this.#transformer.fail === undefined ? rethrow(error) : this.#transformer.fail(error))
      }
    }
    return done
  }

  #last (value: Out | undefined): IteratorResult<Out, undefined> {
    this.#ended = true
    return value === undefined ? done : { done: false, value }
  }

  async return (): Promise<IteratorResult<Out, undefined>> {
    this.#ended = true
    await this.#source.return?.()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}

function rethrow (error: unknown): never {
  throw error
}
