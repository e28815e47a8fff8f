/** An open response. */
export interface OpenAttempt<E> {
  /** Gives the events of the next read; `undefined` after the last. Not before the previous one is back. */
  readonly next: () => E[] | undefined | Promise<E[] | undefined>
  /** Calls `go` once `next` has something to give, or returns false where only that knows (`core/flow`). */
  readonly whenReady?: (go: () => void) => boolean
  /** True once nothing is left to be read: what `next` still gives is there. */
  readonly isRead?: boolean
  /** Stops reading until `next` or `whenReady` is called. */
  readonly pause?: () => void
  /** Returns the bytes read so far. */
  readonly sizeBytes: () => number
  /** Releases the connection, however far the response has been read. */
  readonly close: () => void
}

/** Makes an attempt of a response that has been read to its end. */
export function bufferedAttempt<E> (events: E[]): OpenAttempt<E> {
  let given = false
  return {
    next: () => {
      if (given) return undefined
      given = true
      return events
    },
    sizeBytes: () => 0,
    close: () => { /* the body has been read to its end */ }
  }
}
