/**
 * Shares a bounded resource of the process among keys: open calls, memory of bodies, disk of uploads.
 *
 * A key may hold a share of what the other keys leave. One at its share is refused more while
 * there is still room for the others: with a share of a half, the second key finds a half, the third a
 * quarter.
 */
export class FairShare {
  #total: number
  #share: number
  readonly #amounts = new Map<string, number>()
  #used = 0

  /** @param share from 0 to 1: how much one key may hold of what others leave */
  constructor (total: number, share: number) {
    this.#total = total
    this.#share = share
  }

  /** Changes the bounds. What is taken already stays, even beyond them. */
  resize (total: number, share: number): void {
    this.#total = total
    this.#share = share
  }

  get total (): number {
    return this.#total
  }

  get used (): number {
    return this.#used
  }

  /** Returns the most that this owner may hold now, at least 1. */
  maxOf (owner: string): number {
    return Math.max(1, Math.floor((this.#total - this.#used + this.#of(owner)) * this.#share))
  }

  /** Returns the most that an owner may hold while there is no other. */
  get maxAlone (): number {
    return Math.max(1, Math.floor(this.#total * this.#share))
  }

  /** Returns true when half of everything, and half of what this owner may hold, would still be free with so much more. */
  leavesHalf (owner: string, amount: number): boolean {
    return this.#used + amount <= this.#total / 2 && this.#of(owner) + amount <= this.maxOf(owner) / 2
  }

  /** Takes all of the amount, or nothing and returns false. */
  take (owner: string, amount: number): boolean {
    const amountOfOwner = this.#of(owner)
    if (this.#used + amount > this.#total || amountOfOwner + amount > this.maxOf(owner)) return false
    this.#used += amount
    this.#amounts.set(owner, amountOfOwner + amount)
    return true
  }

  /** @param amount no more than the owner has taken */
  give (owner: string, amount: number): void {
    const amountOfOwner = this.#of(owner) - amount
    this.#used -= amount
    if (amountOfOwner > 0) this.#amounts.set(owner, amountOfOwner)
    else this.#amounts.delete(owner)
  }

  #of (owner: string): number {
    return this.#amounts.get(owner) ?? 0
  }
}
