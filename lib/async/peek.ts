import { emptyPipeline } from '../core/errors.ts'

/** A source whose first value is known. */
export interface Peeked<T> {
  readonly first: T
  /** All of it, the first included. Leaving it early returns the source. */
  readonly all: AsyncIterable<T>
}

/**
 * Waits for the first value, which decides the head of a reply.
 *
 * @throws what the source throws before it; `internal_error` when there is none
 */
export async function peek<T> (source: AsyncIterable<T>): Promise<Peeked<T>> {
  const rest = source[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done === true) throw emptyPipeline()
  let pending: IteratorResult<T> | undefined = first
  const all: AsyncIterable<T> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        if (pending === undefined) return rest.next()
        const given = pending
        pending = undefined
        return Promise.resolve(given)
      },
      return: async () => await rest.return?.() ?? { done: true, value: undefined }
    })
  }
  return { first: first.value, all }
}
