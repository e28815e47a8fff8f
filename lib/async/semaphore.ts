/**
 * A semaphore with a bounded queue.
 *
 * The line is fair to owners: each is served alternately, first come first served among its own, so one who
 * sends much waits behind itself. When the line is full, the owner with most in it loses its latest. What
 * waits is a function that is called when a place is free: with a place free, `acquire` costs no promise.
 */

export interface Waiter {
  /** Called once, now or later; it must not throw, and the place is its until `release`. */
  readonly enter: () => void
  /** Called instead when there is no room in the line, now or later. */
  readonly refuse: () => void
}

export class Semaphore {
  readonly #maxWaiting: number
  /** Owners in the order in which they are served. */
  readonly #lines = new Map<string, Set<Waiter>>()
  readonly #whenIdle: Array<() => void> = []
  #waiting = 0
  #inside = 0
  #free: number
  #serving = false

  /** @param count of those inside at once; `Infinity`: any number */
  constructor (count: number, maxWaiting = Infinity) {
    this.#free = count
    this.#maxWaiting = maxWaiting
  }

  get waiting (): number {
    return this.#waiting
  }

  /** @param owner who waits: the id of a key */
  acquire (waiter: Waiter, owner: string): void {
    if (this.#free > 0) {
      this.#admit(waiter)
      return
    }
    if (this.#waiting >= this.#maxWaiting && !this.#makeRoom(owner)) {
      waiter.refuse()
      return
    }
    this.#waiting++
    const line = this.#lines.get(owner)
    if (line === undefined) this.#lines.set(owner, new Set([waiter]))
    else line.add(waiter)
  }

  /** Calls `done` once nothing is inside or waits, now or later. */
  whenIdle (done: () => void): void {
    if (this.#inside === 0 && this.#waiting === 0) done()
    else this.#whenIdle.push(done)
  }

  /** Leaves the line. Returns false for one that is not in it: it has been served already. */
  cancel (waiter: Waiter, owner: string): boolean {
    const line = this.#lines.get(owner)
    if (line?.delete(waiter) !== true) return false
    if (line.size === 0) this.#lines.delete(owner)
    this.#waiting--
    return true
  }

  release (): void {
    this.#free++
    this.#inside--
    if (this.#serving) return // by one that was served just now and has finished at once
    this.#serving = true
    for (let waiter = this.#next(); waiter !== undefined; waiter = this.#next()) this.#admit(waiter)
    this.#serving = false
    if (this.#inside === 0 && this.#whenIdle.length > 0) for (const done of this.#whenIdle.splice(0)) done()
  }

  #admit (waiter: Waiter): void {
    this.#free--
    this.#inside++
    waiter.enter()
  }

  #next (): Waiter | undefined {
    if (this.#free === 0) return undefined
    for (const [owner, line] of this.#lines) {
      const [waiter] = line
      this.#lines.delete(owner)
      if (waiter === undefined) continue
      line.delete(waiter)
      this.#waiting--
      if (line.size > 0) this.#lines.set(owner, line)
      return waiter
    }
    return undefined
  }

  /** Refuses the latest of the owner with most in the line, unless the newcomer would have as many. */
  #makeRoom (newcomer: string): boolean {
    let most: Set<Waiter> | undefined
    for (const line of this.#lines.values()) {
      if (line.size > (most?.size ?? 0)) most = line
    }
    if (most === undefined || most.size <= (this.#lines.get(newcomer)?.size ?? 0) + 1) return false
    const latest = [...most].at(-1)
    if (latest === undefined) return false
    most.delete(latest)
    this.#waiting--
    latest.refuse()
    return true
  }
}
