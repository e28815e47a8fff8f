/**
 * A list of members in order of arrival, with cheap removal.
 *
 * The members themselves form a ring. A `Set` or a `Map` whose members change allocates a new table every few
 * dozen calls. Each old table, dead but in old space, keeps its members alive until the next full collection.
 * With a set of the open calls, that was a third of everything promoted, and up to a quarter of the CPU time
 * of a JSON call.
 */

/** A member of at most one ring at a time: the base class of whatever a ring holds. */
export class RingMember {
  // Assigned in the constructor: V8 defines field initialisers in its slow runtime if several classes extend
  // one.
  declare previous: RingMember
  declare next: RingMember

  constructor () {
    this.previous = this
    this.next = this
  }
}

export class Ring<M extends RingMember> implements Iterable<M> {
  readonly #ends = new RingMember()
  #size = 0

  get size (): number {
    return this.#size
  }

  /** Returns the oldest member; `undefined` if there is none. */
  get first (): M | undefined {
    const { next } = this.#ends
    return next === this.#ends ? undefined : next as M // `add` accepts only these
  }

  /** Returns the newest member; `undefined` if there is none. */
  get last (): M | undefined {
    const { previous } = this.#ends
    return previous === this.#ends ? undefined : previous as M
  }

  /** Returns whether a member is in a ring. */
  static holds (member: RingMember): boolean {
    return member.next !== member
  }

  /** Adds a member at the end; an existing member keeps its position. */
  add (member: M): void {
    if (Ring.holds(member)) return
    this.#size++
    member.previous = this.#ends.previous
    member.next = this.#ends
    member.previous.next = member
    this.#ends.previous = member
  }

  /** Deletes a member, if it is in the ring. */
  delete (member: M): void {
    if (!Ring.holds(member)) return
    this.#size--
    member.previous.next = member.next
    member.next.previous = member.previous
    // A deleted member must not keep later ones alive.
    member.previous = member
    member.next = member
  }

  /** Iterates over the current members: later additions and deletions change nothing. */
  [Symbol.iterator] (): Iterator<M> {
    const members: M[] = []
    // `add` accepts only these
    for (let member = this.#ends.next; member !== this.#ends; member = member.next) members.push(member as M)
    return members.values()
  }
}
