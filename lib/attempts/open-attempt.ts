import { GatewayError } from '../core/errors.ts'

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

/** Bytes of an answer that are not counted: most answers are smaller, and open streams hold less. */
const freeBytes = 64 * 1024
/** An answer is in memory as it was received and, later, as it is printed for a caller who may not read. */
const copies = 2

/**
 * Counts what one attempt holds of an answer in the memory of its call (`limits.body_memory_bytes`), until
 * the call ends. It counts the most that was held at once: memory that was in use is free again only after a
 * collection.
 */
export class AnswerMemory {
  readonly #take: ((bytes: number) => void) | undefined
  #heldBytes = 0
  #countedBytes = freeBytes

  /**
   * @param take counts bytes, and throws where there is no room for them; absent for a call without a bound
   */
  constructor (take: ((bytes: number) => void) | undefined) {
    this.#take = take
  }

  /**
   * Adds bytes of the answer that are kept.
   *
   * @throws GatewayError `overloaded` where other calls use the memory, `upstream_invalid_response` for more
   *   than one key may ever use
   */
  readonly hold = (bytes: number): void => {
    this.#heldBytes += bytes
    if (this.#heldBytes <= this.#countedBytes) return
    const more = this.#heldBytes - this.#countedBytes
    this.#countedBytes = this.#heldBytes
    try {
      this.#take?.(copies * more)
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'file_too_large') throw error
      const message = "The provider's answer needs more memory than one API key may use."
      throw new GatewayError('upstream_invalid_response', { message, fault: 'caller' })
    }
  }

  /** Notes that nothing is kept any more, as after each complete event of a stream. */
  release (): void {
    this.#heldBytes = 0
  }
}
