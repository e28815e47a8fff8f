/** Lets a few through at a time; the others wait for their turn. */
export class Gate {
  readonly #limit: number
  readonly #waiting: Array<() => void> = []
  #inside = 0

  constructor (limit: number) {
    this.#limit = limit
  }

  /** @throws whatever `work` throws; the signal's reason when it aborts before the turn comes */
  async pass<T> (work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#inside >= this.#limit) await this.#turn(signal)
    else this.#inside++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#inside--
      else next()
    }
  }

  async #turn (signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(signal.reason)
      }
      if (signal.aborted) return reject(signal.reason)
      this.#waiting.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
