/** An open response. */
export interface OpenAttempt<E> {
  /** Gives the events of the next read; `undefined` after the last. Not before the previous one is back. */
  readonly next: () => Promise<E[] | undefined>
  /** Returns the bytes read so far. */
  readonly sizeBytes: () => number
  /** Releases the connection, however far the response has been read. */
  readonly close: () => void
}

/** Makes an attempt of a response that has been read to its end. */
export function bufferedAttempt<E> (events: E[]): OpenAttempt<E> {
  let left: E[] | undefined = events
  return {
    next: () => {
      const given = left
      left = undefined
      return Promise.resolve(given)
    },
    sizeBytes: () => 0,
    close: () => { /* the body has been read to its end */ }
  }
}
