/**
 * Keeps the connections to one provider and finds a free one without looking through them: the one that was used last,
 * so that those a burst has opened come to rest and are closed.
 */

import { Connection } from './connection.ts'
import type { Connect } from './connector.ts'

const closeIdleEveryMs = 1000

export class Connections {
  readonly #connect: Connect
  readonly #free: Connection[] = []
  #busy = 0
  #closingIdle: NodeJS.Timeout | undefined

  constructor (connect: Connect) {
    this.#connect = connect
  }

  /** Counts the sockets that are open or about to be. */
  get open (): number {
    return this.#busy + this.#free.length
  }

  /** Returns the connection that was used last, or a new one; it belongs to the caller until `release`. */
  acquire (): Connection {
    const nowMs = performance.now()
    this.#busy++
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      free.place = -1
      if (free.isUsable(nowMs)) return free
      free.destroy()
    }
    const made: Connection = new Connection(this.#connect, () => this.#drop(made))
    return made
  }

  release (connection: Connection): void {
    this.#busy--
    if (!connection.isUsable(performance.now())) return connection.destroy()
    connection.place = this.#free.push(connection) - 1
    this.#closingIdle ??= setInterval(() => this.#closeIdle(), closeIdleEveryMs).unref()
  }

  /** Closes those that are free. */
  close (): void {
    this.#closeWhere(() => true)
    this.#stopClosingIdle()
  }

  #closeIdle (): void {
    const nowMs = performance.now()
    this.#closeWhere(connection => !connection.isUsable(nowMs))
    if (this.#free.length === 0) this.#stopClosingIdle()
  }

  #stopClosingIdle (): void {
    clearInterval(this.#closingIdle)
    this.#closingIdle = undefined
  }

  #closeWhere (shouldClose: (connection: Connection) => boolean): void {
    for (let at = this.#free.length - 1; at >= 0; at--) { // from the end: `#drop` puts the last one, which was checked, in the place of another
      const connection = this.#free[at]
      if (connection === undefined || !shouldClose(connection)) continue
      this.#drop(connection)
      connection.destroy()
    }
  }

  /** Takes a connection off the list of free ones, if it is there; the last one gets its place. */
  #drop (connection: Connection): void {
    const { place } = connection
    if (place === -1) return
    connection.place = -1
    const last = this.#free.pop()
    if (last === undefined || last === connection) return
    this.#free[place] = last
    last.place = place
  }
}
