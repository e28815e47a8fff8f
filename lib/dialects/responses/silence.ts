/**
 * Every fourth ping of a silent stream is an event, which agents count as a sign of life; comments are not.
 */
const pingsPerEvent = 4

/** Counts the pings since a stream had something to say. */
export class Silence {
  #pings = 0

  end (): void {
    this.#pings = 0
  }

  /** Counts a ping. @returns whether it is to be an event */
  isEventDue (): boolean {
    return ++this.#pings % pingsPerEvent === 0
  }
}
