/**
 * Shares a bounded resource of the process among keys: open calls, memory for bodies, disk for uploads.
 *
 * A key may hold a share of what the other keys leave. Once it has that, it is refused more even if there is
 * room: with a share of one half, the first key may hold a half, the second a quarter.
 */
export class FairShare {
  #total: number
  #share: number
  readonly #amounts = new Map<string, number>()
  #used = 0

  /** @param share from 0 to 1: how much of the rest one key may hold */
  constructor (total: number, share: number) {
    this.#total = total
    this.#share = share
  }

  /** Changes the bounds. Amounts already taken stay, even if they exceed the new ones. */
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

  /** Returns the amount that this owner holds. */
  amountOf (owner: string): number {
    return this.#amounts.get(owner) ?? 0
  }

  /** Returns the maximum for this owner now, at least 1. */
  maxOf (owner: string): number {
    const amountOfOwner = this.#amounts.get(owner) ?? 0
    return Math.max(1, Math.floor((this.#total - this.#used + amountOfOwner) * this.#share))
  }

  /** Returns the maximum for an owner if there is no other. */
  get maxAlone (): number {
    return Math.max(1, Math.floor(this.#total * this.#share))
  }

  /**
   * Returns true if, after taking this amount, half of the total and half of this owner's share would still
   * be free.
   */
  leavesHalf (owner: string, amount: number): boolean {
    return (
      this.#used + amount <= this.#total / 2 &&
      (this.#amounts.get(owner) ?? 0) + amount <= this.maxOf(owner) / 2
    )
  }

  /** Takes the whole amount, or returns false and takes nothing. */
  take (owner: string, amount: number): boolean {
    const amountOfOwner = this.#amounts.get(owner) ?? 0
    if (this.#used + amount > this.#total || amountOfOwner + amount > this.maxOf(owner)) return false
    this.#used += amount
    this.#amounts.set(owner, amountOfOwner + amount)
    return true
  }

  /** @param amount at most what the owner holds */
  release (owner: string, amount: number): void {
    const amountOfOwner = (this.#amounts.get(owner) ?? 0) - amount
    this.#used -= amount
    if (amountOfOwner > 0) this.#amounts.set(owner, amountOfOwner)
    else this.#amounts.delete(owner)
  }
}
