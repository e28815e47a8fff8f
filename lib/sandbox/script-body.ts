/** Plays the body of a script to its reader, one `send` per read and never ahead. */

import { done } from '../pipeline/sources.ts'
import { GatewayError, answerTooLarge } from '../core/errors.ts'
import type { Clock } from './clock.ts'
import type { Step } from './script.ts'
import type { UpstreamBody } from '../providers/provider.ts'

type Result = IteratorResult<Uint8Array, undefined>

/**
 * A class instead of an async generator, because leaving early must end a current pause: `return` of a
 * generator waits for its pending `next`.
 */
export class ScriptBody implements UpstreamBody, AsyncIterator<Uint8Array, undefined> {
  readonly #clock: Clock
  readonly #idleMs: number
  #steps: Iterator<Step> | undefined

  /** @param idleMs the longest pause the reader accepts, in milliseconds */
  constructor (steps: Iterable<Step>, clock: Clock, idleMs: number) {
    this.#steps = steps[Symbol.iterator]()
    this.#clock = clock
    this.#idleMs = idleMs
  }

  async next (): Promise<Result> {
    try {
      for (let step = this.#step(); step !== undefined; step = this.#step()) {
        // A pause of nothing still notices that the caller has left.
        await this.#clock.pause(step.type === 'pause' ? step.ms : 0, this.#idleMs)
        if (step.type === 'lose') throw new GatewayError('upstream_stream_interrupted')
        if (step.type === 'send') return { done: false, value: Buffer.from(step.bytes) }
      }
      return done
    } catch (error) {
      this.#close()
      throw error
    }
  }

  return (): Promise<Result> {
    this.cancel()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  cancel (): void {
    this.#close()
    this.#clock.stop(new GatewayError('upstream_stream_interrupted'))
  }

  async buffer (maxBytes: number, hold?: (bytes: number) => void): Promise<Buffer> {
    const pieces: Uint8Array[] = []
    let sizeBytes = 0
    for await (const bytes of this) {
      sizeBytes += bytes.length
      if (sizeBytes > maxBytes) throw answerTooLarge()
      hold?.(bytes.length)
      pieces.push(bytes)
    }
    return Buffer.concat(pieces, sizeBytes)
  }

  #step (): Step | undefined {
    const result = this.#steps?.next()
    return result === undefined || result.done === true ? undefined : result.value
  }

  #close (): void {
    this.#steps?.return?.()
    this.#steps = undefined
  }
}
