/** Makes and reads sources. */

import { emptyPipeline } from '../core/errors.ts'

/** The result of an iterator that has ended. */
export const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * Returns a source of exactly one value: how a call enters its pipeline. A generator would stay suspended for
 * as long as the answer to the value takes.
 */
export function once<T> (value: T): AsyncIterableIterator<T, undefined> {
  let result: IteratorResult<T, undefined> = { done: false, value }
  return {
    next: () => {
      const given = result
      result = done
      return Promise.resolve(given)
    },
    return: () => {
      result = done
      return Promise.resolve(done)
    },
    [Symbol.asyncIterator] () {
      return this
    }
  }
}

/** A source whose first value is known. */
export interface PeekResult<T> {
  readonly first: T
  /** All values, including the first. Leaving early calls `return()` of the source. */
  readonly all: AsyncIterable<T>
}

/**
 * Waits for the first value, which decides the head of a reply. `it-peekable` does not call `return()` of its
 * source when it is left early: the provider's connection would stay open.
 *
 * @throws what the source throws before its first value; `internal_error` if it has none
 */
export async function peek<T> (source: AsyncIterable<T>): Promise<PeekResult<T>> {
  const rest = source[Symbol.asyncIterator]()
  const result = await rest.next()
  if (result.done === true) throw emptyPipeline()
  let first: IteratorResult<T> | undefined = result
  const iterator: AsyncIterator<T> = {
    next: () => {
      if (first === undefined) return rest.next()
      const given = first
      first = undefined
      return Promise.resolve(given)
    },
    return: async () => await rest.return?.() ?? done
  }
  return { first: result.value, all: { [Symbol.asyncIterator]: () => iterator } }
}

/** Reads a source to its end. */
export async function collect<T> (source: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of source) values.push(value)
  return values
}
