/**
 * A number of places, and the line of those who wait for one, first come first served. What waits
 * is a function that is called when its turn comes: with a place free, `take` costs no promise.
 */
export class Semaphore {
  readonly #line = new Set<() => void>()
  #free: number
  #serving = false

  constructor (count: number) {
    this.#free = count
  }

  /** @param enter called once, now or later; it must not throw, and the place is its until `release` */
  acquire (enter: () => void): void {
    if (this.#free === 0) {
      this.#line.add(enter)
      return
    }
    this.#free--
    enter()
  }

  /** Leaves the line. False for one who is not in it: its turn has come already. */
  cancel (enter: () => void): boolean {
    return this.#line.delete(enter)
  }

  release (): void {
    this.#free++
    if (this.#serving) return // by one whose turn came just now and was over at once
    this.#serving = true
    for (const enter of this.#line) {
      if (this.#free === 0) break
      this.#free--
      this.#line.delete(enter)
      enter()
    }
    this.#serving = false
  }
}
