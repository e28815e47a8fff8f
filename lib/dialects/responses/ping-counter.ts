/** Every fourth ping of an idle stream is an event, which keeps agents waiting; comments do not. */
const pingsPerEvent = 4

/** Counts the pings since the last output of a stream. */
export class PingCounter {
  #pings = 0

  end (): void {
    this.#pings = 0
  }

  /** Counts a ping. @returns true if an event must be sent */
  isEventDue (): boolean {
    return ++this.#pings % pingsPerEvent === 0
  }
}
