import { emptyPipeline } from '../core/errors.ts'
import { Flow, pulling, type PullResult, type PullSource } from '../core/flow.ts'

/** A source whose first value is known. */
export interface PeekResult<T> {
  readonly first: T
  /** All of it, the first included. Leaving early calls `return()` of the source. */
  readonly all: AsyncIterable<T>
}

/**
 * Waits for the first value, which decides the head of a reply. `it-peekable` takes the same time (0.51 µs a value, this
 * 0.55), but does not call `return()` of its source when it is left early: the provider's connection would stay open.
 *
 * @returns a promise only where the source has to be waited for
 * @throws what the source throws before it; `internal_error` when there is none; or rejects with it
 */
export function peek<T> (source: AsyncIterable<T>): PeekResult<T> | Promise<PeekResult<T>> {
  const rest = pulling(source)
  const first = rest.pull()
  return first instanceof Promise ? first.then(there => peeked(there, rest)) : peeked(first, rest)
}

function peeked<T> (first: PullResult<T>, rest: PullSource<T>): PeekResult<T> {
  if (first.done === true) throw emptyPipeline()
  if (rest instanceof Flow) return { first: first.value, all: rest.unread(first.value) }
  let pending: IteratorResult<T, undefined> | undefined = first
  const all: AsyncIterable<T> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        if (pending === undefined) return rest.next()
        const result = pending
        pending = undefined
        return Promise.resolve(result)
      },
      return: async () => await rest.return?.() ?? { done: true, value: undefined }
    })
  }
  return { first: first.value, all }
}

/** Reads a source to its end. Returns a promise only where it has to be waited for. */
export function collected<T> (source: AsyncIterable<T>): T[] | Promise<T[]> {
  return collectInto([], pulling(source))
}

function collectInto<T> (values: T[], rest: PullSource<T>): T[] | Promise<T[]> {
  for (;;) {
    const result = rest.pull()
    if (result instanceof Promise) {
      return result.then(there => {
        if (there.done === true) return values
        values.push(there.value)
        return collectInto(values, rest)
      })
    }
    if (result.done === true) return values
    values.push(result.value)
  }
}
