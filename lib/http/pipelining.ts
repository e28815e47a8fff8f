/**
 * Bounds the requests of one connection that wait behind an open one.
 *
 * Node hands over every request of a read at once: 64 KiB hold two thousand `GET /livez`, each of which
 * would become a call. The first request beyond the bound is refused with the connection; those after it
 * are dropped with it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Returns whether a response waits behind another one of its connection. */
export function waitsForConnection (response: ServerResponse): boolean {
  return response.socket === null
}

export class Pipelining {
  #maxWaiting: number
  readonly #waiting = new WeakMap<Socket, number>()
  /** Connections of which a request was refused: they end with that answer. */
  readonly #refused = new WeakSet<Socket>()

  /** @param maxOutstanding answers a connection may wait for */
  constructor (maxOutstanding: number) {
    this.#maxWaiting = maxOutstanding - 1
  }

  get maxOutstanding (): number {
    return this.#maxWaiting + 1
  }

  set maxOutstanding (maxOutstanding: number) {
    this.#maxWaiting = maxOutstanding - 1
  }

  /** Decides about a request that just came. Costs nothing for one that does not wait. */
  admit ({ socket }: IncomingMessage, response: ServerResponse): 'serve' | 'refuse' | 'drop' {
    if (!waitsForConnection(response)) return 'serve'
    if (this.#refused.has(socket)) return 'drop'
    const waiting = this.#waiting.get(socket) ?? 0
    if (waiting >= this.#maxWaiting) {
      this.#refused.add(socket)
      response.setHeader('connection', 'close')
      socket.pause()
      return 'refuse'
    }
    this.#waiting.set(socket, waiting + 1)
    response.once('close', () => { this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1) })
    return 'serve'
  }
}
