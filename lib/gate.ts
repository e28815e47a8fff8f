/**
 * Lets a few pieces of work through at a time: `Slots` for who can wait on a promise and may be
 * called off. Where neither is to cost anything, as in front of every request, take `Slots` itself.
 */

import { Slots } from './slots.ts'

export class Gate {
  readonly #slots: Slots

  constructor (limit: number) {
    this.#slots = new Slots(limit)
  }

  /** @throws whatever `work` throws; the signal's reason when it aborts before the turn comes */
  async pass<T> (work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal)
    try {
      return await work()
    } finally {
      this.#slots.release()
    }
  }

  async #turn (signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#slots.leave(enter)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#slots.take(enter)
    })
  }
}
