import type { CallSignal } from '../core/call.ts'

/**
 * Runs a few pieces of heavy work at a time, fairly: the next one belongs to the owner with the least
 * running, in rotation. No owner gets a second slot while another waits for a first, and an owner with much
 * work does not delay the others. Where waiting must cost nothing, as before every request, use `Semaphore`,
 * which calls back instead of creating promises.
 */
export class WorkQueue {
  /** Waiting work by owner. An owner that has just been served goes to the end. */
  readonly #lines = new Map<string, Set<() => void>>()
  readonly #running = new Map<string, number>()
  #free: number

  constructor (limit: number) {
    this.#free = limit
  }

  /**
   * @param owner whose work it is: the id of a key
   * @throws whatever `work` throws; the signal's reason when it aborts while waiting
   */
  async run<T> (owner: string, work: () => Promise<T>, signal: CallSignal): Promise<T> {
    await this.#turn(owner, signal)
    try {
      return await work()
    } finally {
      this.#free++
      this.#count(owner, -1)
      this.#admitNext()
    }
  }

  async #turn (owner: string, signal: CallSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const line = this.#lines.get(owner) ?? new Set()
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        line.delete(enter)
        if (line.size === 0) this.#lines.delete(owner)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#lines.set(owner, line.add(enter))
      this.#admitNext()
    })
  }

  #admitNext (): void {
    while (this.#free > 0) {
      const [owner] = [...this.#lines.keys()].toSorted((a, b) => this.#of(a) - this.#of(b))
      if (owner === undefined) return
      this.#free--
      this.#count(owner, 1)
      this.#nextOf(owner)?.()
    }
  }

  #nextOf (owner: string): (() => void) | undefined {
    const line = this.#lines.get(owner) ?? new Set()
    const [enter] = line
    if (enter !== undefined) line.delete(enter)
    this.#lines.delete(owner)
    if (line.size > 0) this.#lines.set(owner, line)
    return enter
  }

  #of (owner: string): number {
    return this.#running.get(owner) ?? 0
  }

  #count (owner: string, more: 1 | -1): void {
    const count = this.#of(owner) + more
    if (count === 0) this.#running.delete(owner)
    else this.#running.set(owner, count)
  }
}
