import { GatewayError } from '../core/errors.ts'

/** Bytes of an answer that are not counted: most answers are smaller, and open streams hold less. */
const uncountedBytes = 64 * 1024
/** An answer is in memory as received and, later, as printed for a caller who may not read it. */
const answerCopies = 2

/**
 * Counts the memory that one response holds in its call (`limits.body_memory_bytes`), until the call ends. It
 * counts the maximum held at any time: used memory is free again only after a garbage collection.
 */
export class AnswerMemory {
  readonly #take: ((bytes: number) => void) | undefined
  #heldBytes = 0
  #countedBytes = uncountedBytes

  /**
   * @param take counts bytes, and throws where there is no memory for them; absent for a call without a limit
   */
  constructor (take: ((bytes: number) => void) | undefined) {
    this.#take = take
  }

  /**
   * Adds bytes of the answer that are kept.
   *
   * @throws GatewayError `overloaded` while other calls use the memory; `upstream_invalid_response` for more
   *   than one key may ever use
   */
  readonly hold = (bytes: number): void => {
    this.#heldBytes += bytes
    if (this.#heldBytes <= this.#countedBytes) return
    const more = this.#heldBytes - this.#countedBytes
    this.#countedBytes = this.#heldBytes
    try {
      this.#take?.(answerCopies * more)
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'file_too_large') throw error
      const message = "The provider's answer needs more memory than one API key may use."
      throw new GatewayError('upstream_invalid_response', { message, fault: 'final' })
    }
  }

  /** Notes that nothing is held any more, as after each complete event of a stream. */
  release (): void {
    this.#heldBytes = 0
  }
}
